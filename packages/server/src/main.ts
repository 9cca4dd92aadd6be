/** The `sluice` command. */
process.stdout.write('Sluice\n')
