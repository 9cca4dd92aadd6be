/**
 * Rules that follow their file: a save in place, a rename over it, a removal and return, a swapped link
 * (Kubernetes' `..data`) are all in force within a second. Folders are watched so that it is quick, and
 * the file is looked at twice a second so that it is sure. What is wrong is told once; the last good
 * rules stay.
 */
import { type FSWatcher, watch } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import type { Pace, RuleSet } from '@sluice/limiter'
import { describeChanges } from './describe-changes.js'
import { foldersOf, markOf } from './file-chain.js'
import { type LoadedRules, type RefusedRules, rulesOf, unreadable } from './load-rules.js'

/** Milliseconds. Their sum, but for the last, is what a change takes at most. */
export const TIMES = {
  /** Between two looks at the file, whatever the folders say. */
  poll: 500,
  /** Between two looks that folders ask for. */
  pause: 20,
  /** A file that is being written is left alone until it has not changed for so long. */
  settle: 60,
  /** What looks torn (gone, faulty, or the beginning of what it was) is looked at again after this. */
  grace: 300,
}

export interface RulesInForce {
  readonly rules: RuleSet
  readonly warnings: readonly string[]
  /** Whether these rules differ in anything from those before. */
  readonly isChanged: boolean
  /** Words for the log; none where the file is back to what is in force. */
  readonly changes: readonly string[]
}

/** Told of every change in the file's rules. If it throws, the rules are not in force, and that is a fault. */
export type RulesListener = (event: RulesInForce | RefusedRules) => void | Promise<void>

export interface WatchOptions extends Pace {
  /** What `loadRules` gave, and is in force; without it the first look tells everything. */
  readonly loaded?: LoadedRules
  /** For tests: each way alone must do. Both unless given. */
  readonly by?: 'folders' | 'polling'
}

export function watchRules(
  path: string,
  listener: RulesListener,
  options: WatchOptions = {},
): WatchedRules {
  return new WatchedRules(path, listener, options)
}

export class WatchedRules {
  readonly #path: string
  readonly #listener: RulesListener
  readonly #options: WatchOptions
  readonly #closing = new AbortController()
  readonly #watchers = new Map<string, FSWatcher>()
  readonly #poll: ReturnType<typeof setInterval> | undefined
  #rules: RuleSet | null
  #source: Buffer | null
  /** What was told to be wrong: the bytes, or why there are none. */
  #told: Buffer | string | null = null
  #mark = ''
  #looking: Promise<void> | null = null
  #lookAgain = false

  constructor(path: string, listener: RulesListener, options: WatchOptions) {
    this.#path = path
    this.#listener = listener
    this.#options = options
    this.#rules = options.loaded?.rules ?? null
    this.#source = options.loaded?.source ?? null
    if (options.by !== 'folders') {
      this.#poll = setInterval(() => this.#look(), TIMES.poll)
      this.#poll.unref()
    }
    this.#look()
  }

  /** Resolves when nothing is under way any more. */
  async close(): Promise<void> {
    this.#closing.abort()
    clearInterval(this.#poll)
    for (const watcher of this.#watchers.values()) watcher.close()
    this.#watchers.clear()
    await this.#looking
  }

  /** One look at a time; what happens meanwhile is looked at afterwards. */
  #look(): void {
    if (this.#closing.signal.aborted) return
    this.#lookAgain = true
    this.#looking ??= this.#lookWhileAsked().finally(() => {
      this.#looking = null
    })
  }

  async #lookWhileAsked(): Promise<void> {
    while (this.#lookAgain && !this.#closing.signal.aborted) {
      try {
        await this.#wait(TIMES.pause)
        this.#lookAgain = false
        await this.#watchFolders()
        await this.#follow()
      } catch (error) {
        // Closing interrupts whatever is waited for; anything else is tried again with the next look.
        if (!this.#closing.signal.aborted) await this.#tellTrouble(String(error), unreadable(error))
        this.#lookAgain = false
      }
    }
  }

  async #follow(): Promise<void> {
    const mark = await markOf(this.#path)
    if (mark === this.#mark) return
    await this.#wait(TIMES.settle)
    if ((await markOf(this.#path)) !== mark) return this.#look()
    const source = await readFile(this.#path).catch((error: unknown) => unreadable(error))
    const isTorn = !Buffer.isBuffer(source) || isBeginning(source, this.#source)
    if (isTorn && (await this.#changesWithin(TIMES.grace, mark))) return this.#look()
    if ((await markOf(this.#path)) !== mark) return this.#look()
    if (!Buffer.isBuffer(source)) await this.#tellTrouble(source.faults[0]!.message, source)
    else if (!(await this.#read(source, mark))) return this.#look()
    this.#mark = mark
  }

  /** False where the file has changed meanwhile: then what it was is nobody's concern. */
  async #read(source: Buffer, mark: string): Promise<boolean> {
    if (this.#source?.equals(source) === true) {
      if (this.#told !== null && this.#rules !== null)
        await this.#listener({ rules: this.#rules, warnings: [], isChanged: false, changes: [] })
      this.#told = null
      return true
    }
    if (Buffer.isBuffer(this.#told) && this.#told.equals(source)) return true
    const { signal } = this.#closing
    const loaded = await rulesOf(source, { ...this.#options, signal, whileDeciding: true })
    if ('faults' in loaded) {
      if (await this.#changesWithin(TIMES.grace, mark)) return false
      await this.#tellTrouble(source, loaded)
      return true
    }
    const { rules, warnings } = loaded
    const { isChanged, lines } = await describeChanges(this.#rules, rules, this.#options)
    signal.throwIfAborted()
    try {
      await this.#listener({ rules, warnings, isChanged, changes: lines })
    } catch (error) {
      await this.#tellTrouble(source, unfit(error))
      return true
    }
    this.#rules = rules
    this.#source = source
    this.#told = null
    return true
  }

  async #changesWithin(ms: number, mark: string): Promise<boolean> {
    await this.#wait(ms)
    return (await markOf(this.#path)) !== mark
  }

  async #tellTrouble(what: Buffer | string, refused: RefusedRules): Promise<void> {
    if (this.#told === what) return
    this.#told = what
    try {
      await this.#listener(refused)
    } catch {
      // Whoever listens can do no more about trouble than not to hear of it.
    }
  }

  /** A wait that closing ends. */
  async #wait(ms: number): Promise<void> {
    await wait(ms, undefined, { signal: this.#closing.signal, ref: false })
  }

  /** Links may lead elsewhere now; a folder that cannot be watched is left to polling. */
  async #watchFolders(): Promise<void> {
    if (this.#options.by === 'polling') return
    const folders = await foldersOf(this.#path)
    for (const [folder, watcher] of this.#watchers) {
      if (folders.has(folder)) continue
      watcher.close()
      this.#watchers.delete(folder)
    }
    if (this.#closing.signal.aborted) return
    for (const folder of folders) {
      if (this.#watchers.has(folder)) continue
      try {
        const watcher = watch(folder, { persistent: false }, () => this.#look())
        watcher.on('error', () => {
          watcher.close()
          this.#watchers.delete(folder)
        })
        this.#watchers.set(folder, watcher)
      } catch {
        continue
      }
    }
  }
}

/** Good rules that could not be put in force. */
function unfit(error: unknown): RefusedRules {
  const message = error instanceof Error ? error.message : String(error)
  return { faults: [{ path: '', line: 1, column: 1, length: 0, message }], text: '' }
}

/** As a file looks that is being written again over itself. */
function isBeginning(source: Buffer, whole: Buffer | null): boolean {
  if (source.length === 0) return true
  if (whole === null || source.length >= whole.length) return false
  return whole.subarray(0, source.length).equals(source)
}
