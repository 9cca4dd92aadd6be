/** The files of a folder of counters, by number: the newest is written to, the one before is kept in case. */
import { readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const NAME = /^counters-(\d{6,15})\.log$/

export class CounterFiles {
  readonly folder: string

  constructor(folder: string) {
    this.folder = folder
  }

  /** Newest first. */
  get numbers(): number[] {
    return readdirSync(this.folder)
      .flatMap((name) => NAME.exec(name)?.[1] ?? [])
      .map(Number)
      .sort((a, b) => b - a)
  }

  nameOf(number: number): string {
    return `counters-${String(number).padStart(6, '0')}.log`
  }

  pathOf(number: number): string {
    return join(this.folder, this.nameOf(number))
  }

  /** Where it is written until it is whole. */
  asideOf(number: number): string {
    return `${this.pathOf(number)}.part`
  }

  /** Only the last damaged file is kept, to be looked at. */
  setAside(number: number): string {
    this.#remove(/\.damaged$/)
    const name = `${this.nameOf(number)}.damaged`
    renameSync(this.pathOf(number), join(this.folder, name))
    return name
  }

  keepNewest(count: number): void {
    for (const number of this.numbers.slice(count)) rmSync(this.pathOf(number), { force: true })
  }

  /** What a server that was killed had begun. */
  removeParts(): void {
    this.#remove(/\.part$/)
  }

  #remove(pattern: RegExp): void {
    for (const name of readdirSync(this.folder))
      if (name.startsWith('counters-') && pattern.test(name))
        rmSync(join(this.folder, name), { force: true })
  }
}
