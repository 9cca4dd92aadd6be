import { expect, it } from 'vitest'
import { RefundSums } from './refund-sums.js'

const NOW = 1_780_000_000_000_000
const HOUR = 3_600_000_000

it('sums of refunds that had to be forgotten leave every earlier receipt worth nothing', () => {
  const sums = new RefundSums(1000)
  for (let key = 0; key < 1000; key++) sums.add([key, 0, 0], 1, NOW + HOUR, NOW, () => true)
  expect([sums.size, sums.isVoid(NOW - 1)]).toEqual([1000, false])
  for (let key = 1000; key < 3000; key++) sums.add([key, 0, 0], 1, NOW + HOUR, NOW, () => true)
  expect(sums.size).toBeLessThanOrEqual(2048)
  expect([sums.isVoid(NOW), sums.isVoid(NOW + 1)]).toEqual([true, false])
})
