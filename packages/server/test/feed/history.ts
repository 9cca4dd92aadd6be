/** A control plane's history in memory: what a database gives, without one. */
import {
  type Change,
  digestOf,
  type Edit,
  type FeedSource,
  type Head,
  NOTHING,
  type Snapshot,
} from '../../src/feed/change.js'
import { FeedState, nothingTouched } from '../../src/feed/feed-state.js'

export class History implements FeedSource {
  readonly changes: Change[] = []
  readonly state = new FeedState()
  readonly watchers = new Set<() => void>()
  /** Every question is refused. */
  isAway = false
  /** How often each thing was asked for. */
  readonly asked = { head: 0, changes: 0, snapshot: 0 }
  /** Changes up to here are not kept any more. */
  prunedTo = 0

  commit(edits: readonly Edit[]): number {
    const text = JSON.stringify(edits)
    const { revision, digest: previous } = this.state.head
    const head = { revision: revision + 1, digest: digestOf(previous, text) }
    this.changes.push({ ...head, previous, edits: text, since: null })
    this.state.apply(edits, nothingTouched())
    this.state.head = head
    for (const perhaps of this.watchers) perhaps()
    return head.revision
  }

  async head(): Promise<Head | null> {
    this.asked.head++
    if (this.isAway) throw new Error('away')
    return this.state.head.revision === 0 ? NOTHING : this.state.head
  }

  async snapshot(): Promise<Snapshot | null> {
    this.asked.snapshot++
    if (this.isAway) throw new Error('away')
    return { ...this.state.head, edits: [...this.state.edits()] }
  }

  async changesAfter(revision: number): Promise<readonly Change[] | null> {
    this.asked.changes++
    if (this.isAway) throw new Error('away')
    if (revision < this.prunedTo) return null
    return this.changes.filter((change) => change.revision > revision)
  }

  watch(perhaps: () => void): () => void {
    this.watchers.add(perhaps)
    return () => this.watchers.delete(perhaps)
  }
}

export function namespaceEdit(namespace = 'default'): Edit {
  return { kind: 'namespace', namespace, key: '', item: {} }
}

export function ruleEdit(
  name: string,
  limits: `${number}/${'s' | 'h'}`,
  namespace = 'default',
): Edit {
  return { kind: 'rule', namespace, key: name, item: { scope: 'user', limits } }
}
