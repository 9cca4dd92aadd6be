/** So many connections for so long, and what came of it. */
import { Latencies } from './latencies.js'
import { LoadConnection } from './load-connection.js'

export interface LoadPlan {
  readonly url: URL
  readonly token: string | undefined
  readonly namespace: string | undefined
  readonly durationMs: number
  readonly connections: number
  /** Checks in a request; 1 is no batch. */
  readonly batch: number
  /** So much is done, from 0 to 1. */
  readonly progress: (share: number, requests: number) => void
}

export interface LoadResult {
  readonly seconds: number
  readonly requests: number
  readonly decisions: number
  readonly latencies: Latencies
  /** Answers that were a no; batches are not looked into. */
  readonly denied: number
  /** Answers that were neither yes nor no, by status. */
  readonly refused: ReadonlyMap<number, number>
  /** Why the first connection was lost, and how many were. */
  readonly lost: { readonly count: number; readonly why: string } | null
}

const SUBJECTS = 1000
const RESOURCE = '/sluice-bench'
const DECISIONS = new Set([200, 403, 429, 503])
const BEAT_MS = 200

export function runLoad(plan: LoadPlan): Promise<LoadResult> {
  const requests = requestsOf(plan)
  const latencies = new Latencies()
  const refused = new Map<number, number>()
  let [turn, denied, lost, why] = [0, 0, 0, '']
  const started = performance.now()
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      clearInterval(beat)
      for (const connection of connections) connection.close()
      const good = latencies.count - [...refused.values()].reduce((sum, count) => sum + count, 0)
      resolve({
        seconds: (performance.now() - started) / 1000,
        requests: latencies.count,
        decisions: good * plan.batch,
        latencies,
        denied,
        refused,
        lost: lost === 0 ? null : { count: lost, why },
      })
    }
    const timer = setTimeout(end, plan.durationMs)
    const beat = setInterval(() => {
      plan.progress((performance.now() - started) / plan.durationMs, latencies.count)
    }, BEAT_MS)
    const connections = Array.from(
      { length: plan.connections },
      () =>
        new LoadConnection({
          url: plan.url,
          next: () => requests[turn++ % requests.length]!,
          answered: (status, body, ms) => {
            latencies.add(ms)
            if (status === 429) denied++
            if (!isDecision(status, body)) refused.set(status, (refused.get(status) ?? 0) + 1)
          },
          failed: (reason) => {
            why ||= reason
            if (++lost === plan.connections) end()
          },
        }),
    )
  })
}

/** 403 and 503 may be refusals of the caller too. */
function isDecision(status: number, body: Buffer): boolean {
  if (status === 200 || status === 429) return true
  return DECISIONS.has(status) && body.includes('"allowed"')
}

/** Made before: the client only sends them. */
function requestsOf({ url, token, namespace, batch }: LoadPlan): Buffer[] {
  const named = namespace === undefined ? {} : { namespace }
  let next = 0
  const check = () => ({
    ...named,
    subject: { user: `bench-${next++ % SUBJECTS}` },
    resource: RESOURCE,
  })
  const path = `${url.pathname.replace(/\/$/, '')}/v1/check${batch === 1 ? '' : '/batch'}`
  return Array.from({ length: SUBJECTS }, () => {
    const asked = batch === 1 ? check() : { checks: Array.from({ length: batch }, check) }
    const body = JSON.stringify(asked)
    const head = [
      `POST ${path} HTTP/1.1`,
      `Host: ${url.host}`,
      ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(body)}`,
    ]
    return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`)
  })
}
