/**
 * What a path stands on: the folders in which a save, a rename or a swapped link would change what it
 * leads to, and a mark that is another one whenever it may have.
 */
import { lstat, readlink, realpath, stat } from 'node:fs/promises'
import { dirname, join, parse, resolve, sep } from 'node:path'

const MOST_LINKS = 40

/** The path's own folder, that of the file it leads to, and that of every link between. */
export async function foldersOf(path: string): Promise<Set<string>> {
  const folders = new Set([dirname(resolve(path))])
  let links = 0
  let walked = parse(resolve(path)).root
  let steps = resolve(path).slice(walked.length).split(sep)
  while (steps.length > 0) {
    const [step, ...rest] = steps as [string, ...string[]]
    const here = join(walked, step)
    const target = await linkAt(here)
    if (target === undefined || ++links > MOST_LINKS) {
      if (rest.length === 0) folders.add(walked)
      walked = here
      steps = rest
      continue
    }
    folders.add(walked)
    const onward = resolve(walked, target)
    walked = parse(onward).root
    steps = [...onward.slice(walked.length).split(sep), ...rest].filter((name) => name !== '')
  }
  return folders
}

async function linkAt(path: string): Promise<string | undefined> {
  try {
    return (await lstat(path)).isSymbolicLink() ? await readlink(path) : undefined
  } catch {
    return undefined
  }
}

/** Another one after every save, rename, swap, removal and return; cheap enough to ask for twice a second. */
export async function markOf(path: string): Promise<string> {
  try {
    const [real, { dev, ino, size, mtimeNs, ctimeNs }] = await Promise.all([
      realpath(path),
      stat(path, { bigint: true }),
    ])
    return [real, dev, ino, size, mtimeNs, ctimeNs].join('|')
  } catch (error) {
    return `gone ${(error as NodeJS.ErrnoException).code}`
  }
}
