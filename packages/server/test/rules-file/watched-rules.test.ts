/** Rules follow their file, however it is changed, by watching folders and by polling alike. */
import { open, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { loadRules } from '../../src/rules-file/load-rules.js'
import { TIMES, watchRules } from '../../src/rules-file/watched-rules.js'
import { configMap, manyRules, newFolder, rules, swapConfigMap, watched } from './files.js'

const MORE_THAN_A_LOOK = 2 * (TIMES.poll + TIMES.grace)

it('leaves a small file less than a second from save to force', () => {
  expect(TIMES.poll + TIMES.pause + TIMES.settle).toBeLessThan(700)
})

describe.each(['folders', 'polling'] as const)('a rules file, seen by %s', (by) => {
  const start = async () => {
    const folder = await newFolder()
    const path = join(folder, 'sluice.yaml')
    await writeFile(path, rules('1/s'))
    const seen = watched(path, { by })
    expect(await seen.next()).toBe('added a 1/s')
    return { folder, path, ...seen }
  }

  it('is applied when it is saved in place', async () => {
    const { path, next } = await start()
    await writeFile(path, rules('2/s'))
    expect(await next()).toBe('changed a 1/s -> 2/s')
    await writeFile(path, rules('3/s'))
    expect(await next()).toBe('changed a 2/s -> 3/s')
  })

  it('is applied when another is renamed over it, again and again', async () => {
    const { folder, path, next } = await start()
    for (const [before, after] of ['12', '23', '34']) {
      await writeFile(join(folder, '.sluice.yaml.swp'), rules(`${after}/s`))
      await rename(join(folder, '.sluice.yaml.swp'), path)
      expect(await next()).toBe(`changed a ${before}/s -> ${after}/s`)
    }
  })

  it('is applied when it is removed and written anew', async () => {
    const { path, next } = await start()
    await rm(path)
    await writeFile(path, rules('2/s'))
    expect(await next()).toBe('changed a 1/s -> 2/s')
  })

  it('is applied when a link on the way is swapped, as Kubernetes does', async () => {
    const folder = await newFolder()
    const path = await configMap(folder, rules('1/s'))
    const { next } = watched(path, { by })
    expect(await next()).toBe('added a 1/s')
    for (const [before, after] of ['12', '23', '34']) {
      await swapConfigMap(folder, rules(`${after}/s`))
      expect(await next()).toBe(`changed a ${before}/s -> ${after}/s`)
    }
  })

  it('is applied when the file is saved that links from folder to folder lead to', async () => {
    const [far, between, near] = [await newFolder(), await newFolder(), await newFolder()]
    await writeFile(join(far, 'real.yaml'), rules('1/s'))
    await symlink(join(far, 'real.yaml'), join(between, 'link.yaml'))
    await symlink(join(between, 'link.yaml'), join(near, 'sluice.yaml'))
    const { next } = watched(join(near, 'sluice.yaml'), { by })
    expect(await next()).toBe('added a 1/s')
    await writeFile(join(far, 'real.yaml'), rules('2/s'))
    expect(await next()).toBe('changed a 1/s -> 2/s')
    await writeFile(join(far, 'other.yaml'), rules('3/s'))
    await symlink(join(far, 'other.yaml'), join(between, 'new.yaml'))
    await rename(join(between, 'new.yaml'), join(between, 'link.yaml'))
    expect(await next()).toBe('changed a 2/s -> 3/s')
  })

  it('keeps the last good rules when it is gone, says so once, and goes on when it is back', async () => {
    const { path, next, told } = await start()
    await rm(path)
    expect(await next()).toBe('there is no such file')
    await wait(MORE_THAN_A_LOOK)
    expect(told).toEqual([])
    await writeFile(path, rules('2/s'))
    expect(await next()).toBe('changed a 1/s -> 2/s')
  })
})

describe('a rules file', () => {
  const start = async (text = rules('1/s')) => {
    const folder = await newFolder()
    const path = join(folder, 'sluice.yaml')
    await writeFile(path, text)
    const loaded = await loadRules(path)
    if ('faults' in loaded) throw new Error('expected good rules')
    return { path, ...watched(path, { loaded }) }
  }

  it('tells nothing while it is what was loaded, even if it is touched or saved unchanged', async () => {
    const { path, told, next } = await start()
    await utimes(path, new Date(), new Date(0))
    await writeFile(path, rules('1/s'))
    await wait(MORE_THAN_A_LOOK)
    expect(told).toEqual([])
    await writeFile(path, rules('2/s'))
    expect(await next()).toBe('changed a 1/s -> 2/s')
  })

  it('that was changed between being loaded and being watched is applied', async () => {
    const folder = await newFolder()
    const path = join(folder, 'sluice.yaml')
    await writeFile(path, rules('1/s'))
    const loaded = await loadRules(path)
    if ('faults' in loaded) throw new Error('expected good rules')
    await writeFile(path, rules('2/s'))
    expect(await watched(path, { loaded }).next()).toBe('changed a 1/s -> 2/s')
  })

  it('with faults is told once, and that it is as before too', async () => {
    const { path, next, told } = await start()
    await writeFile(path, rules('1/x'))
    expect(await next()).toBe('unknown unit "x"')
    await writeFile(path, rules('1/x'))
    await wait(MORE_THAN_A_LOOK)
    expect(told).toEqual([])
    await writeFile(path, rules('1/s'))
    expect(await next()).toBe('')
  })

  it('that is written slowly over itself is not taken for what it is half-way', async () => {
    const names = 'abcdefgh'.split('')
    const eight = `rules:\n${names.map((name) => `  ${name}: { scope: ${name}, limits: 1/s }\n`).join('')}`
    const { path, next, told } = await start(eight)
    const file = await open(path, 'w')
    for (const line of `${eight}  i: { scope: org, limits: 1/s }\n`.split(/(?<=\n)/)) {
      await file.write(line)
      await wait(2 * TIMES.settle)
    }
    await file.close()
    expect(await next()).toBe('added i 1/s')
    expect(told).toEqual([])
  })

  it('of many rules is read by a thread of its own, and watched like any other', async () => {
    const { path, next } = await start(manyRules(3000))
    await writeFile(path, manyRules(3001))
    expect(await next()).toBe('added rule-3000 10/s, 1000/h')
    await writeFile(path, `${manyRules(3000)}  broken: {}\n`)
    expect(await next()).toBe('scope is missing; limits is missing')
  })

  it('whose rules the listener refuses is told as a fault, once, and stays watched', async () => {
    const folder = await newFolder()
    const path = join(folder, 'sluice.yaml')
    await writeFile(path, rules('1/s'))
    const told: string[] = []
    const watch = watchRules(path, (event) => {
      told.push('faults' in event ? event.faults[0]!.message : event.changes.join())
      if (!('faults' in event) && told.length < 3) throw new Error('of another namespace')
      if ('faults' in event) throw new Error('and this too')
    })
    await expect.poll(() => told, { timeout: 5000 }).toHaveLength(2)
    await wait(MORE_THAN_A_LOOK)
    await writeFile(path, rules('2/s'))
    await expect.poll(() => told, { timeout: 5000 }).toHaveLength(3)
    await watch.close()
    expect(told).toEqual(['added a 1/s', 'of another namespace', 'added a 2/s'])
  })
})

describe('a watch that is closed', () => {
  it('leaves nothing open and tells nothing, in whatever it was', async () => {
    const resources = () =>
      process.getActiveResourcesInfo().filter((name) => /FSEvent|Worker|MessagePort/.test(name))
    const before = resources()
    const folder = await newFolder()
    const path = join(folder, 'sluice.yaml')
    await writeFile(path, manyRules(5000))
    for (const ms of [0, 10, 50, 100, 150, 200, 300]) {
      const { watch, told } = watched(path)
      await wait(ms)
      await watch.close()
      told.length = 0
      await writeFile(path, manyRules(5000, `${ms + 1}/s`))
      await wait(50)
      expect(told).toEqual([])
    }
    await expect.poll(resources, { timeout: 5000 }).toEqual(before)
  })
})
