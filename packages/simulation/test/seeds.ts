/** Where searches begin: always at the same seed, unless the environment says another. */
export function firstSeed(): number {
  return Number(process.env['SLUICE_TEST_SEED'] ?? 1)
}
