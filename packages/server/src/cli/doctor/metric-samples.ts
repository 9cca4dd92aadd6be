/** The numbers of a `/metrics` page by name: as much of the format as our own pages use. */

interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g

export class MetricSamples {
  readonly #all = new Map<string, Sample[]>()

  constructor(page: string) {
    for (const line of page.split('\n')) {
      const match = LINE.exec(line)
      if (match === null) continue
      const [, name = '', labels = '', value = ''] = match
      const pairs = [...labels.matchAll(LABEL)].map(([, key, text]) => [key, text] as const)
      const samples = this.#all.get(name) ?? []
      samples.push({ labels: Object.fromEntries(pairs), value: Number(value) })
      this.#all.set(name, samples)
    }
  }

  of(name: string): readonly Sample[] {
    return this.#all.get(name) ?? []
  }

  /** Undefined where there is none. */
  sum(name: string): number | undefined {
    const samples = this.#all.get(name)
    return samples?.reduce((sum, { value }) => sum + value, 0)
  }
}
