import { describe, expect, it } from 'vitest'
import { UsageError } from '../config.js'
import { printRedisAddress, readRedisAddress } from './redis-address.js'

describe('the address of a Redis', () => {
  it('is a single one, a cluster, or what sentinels know', () => {
    expect(readRedisAddress('redis://10.0.0.5')).toMatchObject({
      kind: 'single',
      hosts: [{ host: '10.0.0.5', port: 6379 }],
      isTls: false,
      database: 0,
      password: undefined,
    })
    expect(readRedisAddress('rediss://app:p%40ss:w@[::1]:7000/3')).toMatchObject({
      hosts: [{ host: '::1', port: 7000 }],
      isTls: true,
      username: 'app',
      password: 'p@ss:w',
      database: 3,
    })
    expect(readRedisAddress('redis://:secret@a')).toMatchObject({
      username: undefined,
      password: 'secret',
    })
    expect(readRedisAddress('redis+cluster://a:1,b:2')).toMatchObject({
      kind: 'cluster',
      hosts: [
        { host: 'a', port: 1 },
        { host: 'b', port: 2 },
      ],
    })
    expect(readRedisAddress('rediss+sentinel://a,b:2/primary/5')).toMatchObject({
      kind: 'sentinel',
      hosts: [
        { host: 'a', port: 26379 },
        { host: 'b', port: 2 },
      ],
      isTls: true,
      primary: 'primary',
      database: 5,
    })
  })

  it('is refused in words, without its password', () => {
    const wrong = [
      'http://a',
      'redis://',
      'redis://a,b',
      'redis://:hunter22@a:b',
      'redis://a/x',
      'a:6379',
      'redis://%zz:hunter22@a',
    ]
    for (const text of wrong) {
      expect(() => readRedisAddress(text)).toThrow(UsageError)
      expect(() => readRedisAddress(text)).not.toThrow(/hunter22/)
    }
  })

  it('is printed without its password', () => {
    expect(printRedisAddress(readRedisAddress('redis+cluster://u:hunter22@a,b'))).toBe(
      'cluster a:6379,b:6379',
    )
  })
})
