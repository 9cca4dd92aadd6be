/**
 * The composition root of the service: everything is made here, started in order and stopped in reverse.
 * Ready only when it can decide; not ready any more from the moment it is asked to stop.
 */
import { rmSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { RuleSet } from '@sluice/limiter'
import { openApiDocument } from './api.js'
import { type Settings, UsageError } from './config.js'
import { type Backing, openBacking } from './counters/backing.js'
import { Decisions, type Observer } from './decisions.js'
import { OrdinaryAnswers } from './http/answers.js'
import { Vouchers } from './receipts/vouchers.js'
import { type LoadedRules, loadRules, type RefusedRules } from './rules-file/load-rules.js'
import { watchRules } from './rules-file/watched-rules.js'
import { Gate } from './security/gate.js'
import { TlsCertificates } from './security/tls-files.js'
import { TokenBook } from './security/token-book.js'
import { senseOf } from './startup-sense.js'
import { Denials } from './telemetry/denials.js'
import type { Log } from './telemetry/log.js'
import { Meter } from './telemetry/meter.js'
import { metricsOf } from './telemetry/metrics.js'
import { isTracing } from './telemetry/tracing.js'
import { Tenants } from './tenants.js'
import { decisionRoutes } from './transports/rest/decision-routes.js'
import { operatingRoutes, type Readiness } from './transports/rest/operating-routes.js'
import { RestServer } from './transports/rest/rest-server.js'
import { VERSION } from './version.js'

/** All of it is over within ten seconds: the delay before, this, and the writing of counters. */
const CLOSE_WITHIN_MS = 4000

/** The first rules are faulty: nothing was started. */
export class FaultyRules extends Error {
  readonly file: string
  readonly refused: RefusedRules

  constructor(file: string, refused: RefusedRules) {
    super(`${file} is refused`)
    this.file = file
    this.refused = refused
  }
}

export interface ServeParts {
  readonly settings: Settings
  readonly log: Log
  /** A rules file was saved with faults; the rules before stay in force. */
  readonly refused: (file: string, refused: RefusedRules, revision: number) => void
}

export interface Service {
  readonly tenants: Tenants
  readonly rulesFile: string | null
  readonly backing: Backing
  /** Where it listens: `127.0.0.1:4290`, and the path of a socket. */
  readonly addresses: readonly string[]
  stop(): Promise<void>
}

/** What has been started, to be ended in reverse. */
class Started {
  readonly #ends: (() => Promise<void> | void)[] = []

  add(end: () => Promise<void> | void): void {
    this.#ends.push(end)
  }

  /** All of it, whatever goes wrong with one. */
  async end(failed: (error: unknown) => void): Promise<void> {
    for (const end of this.#ends.splice(0).toReversed()) {
      try {
        await end()
      } catch (error) {
        failed(error)
      }
    }
  }
}

/** Rejects with UsageError, FaultyRules or what went wrong; then nothing is left running. */
export async function serve(parts: ServeParts): Promise<Service> {
  const started = new Started()
  try {
    return await start(parts, started)
  } catch (error) {
    await started.end(() => {})
    throw error
  }
}

async function start(parts: ServeParts, started: Started): Promise<Service> {
  const { settings, log } = parts
  const { rulesFile, token } = senseOf(settings)
  const loaded = rulesFile === null ? null : await firstRules(rulesFile)
  if (loaded === null) log.warn('there are no rules: everything is allowed', { code: 'no_rules' })
  for (const warning of loaded?.warnings ?? []) log.warn(warning)

  const backing = await openBacking(settings, log)
  started.add(() => backing.close())
  const rules = loaded?.rules ?? RuleSet.compile({})
  const tenants = new Tenants(backing.store)
  await tenants.use(rules)
  tenants.home = rules.namespace
  tenants.revision = 1
  started.add(() => backing.store.close())
  const vouchers = new Vouchers({
    secret: backing.secret,
    once: backing.once,
    now: () => backing.now(),
  })
  await backing.shareSecret((secret) => vouchers.adopt(secret))

  const meter = new Meter()
  const denials = new Denials(log)
  started.add(() => denials.close())
  const observer: Observer = {
    decided: (decision, request, namespace) => {
      meter.decided(decision, request, namespace)
      if (!decision.allowed) denials.note(decision, namespace)
    },
    took: (transport, seconds, count) => meter.took(transport, seconds, count),
  }
  const decisions = new Decisions({ tenants, vouchers, observer, headerFamilies: settings.headers })

  const servers: RestServer[] = []
  let phase: 'starting' | 'ready' | 'stopping' = 'starting'
  const readiness = (): Readiness =>
    phase === 'ready' ? readyNow(tenants, backing) : { ready: false, reason: phase }
  const metrics = metricsOf({
    meter,
    version: VERSION,
    revision: () => tenants.revision,
    connections: () => servers.reduce((sum, server) => sum + server.connections, 0),
    store: () => backing.reading(),
    memory: () => backing.size(),
  })
  const failed = (error: unknown) => {
    const said = error instanceof Error ? (error.stack ?? error.message) : String(error)
    log.error('a defect', { code: 'internal', error: said })
  }
  const routes = [
    ...decisionRoutes(decisions),
    ...operatingRoutes({ readiness, metrics, openApi: openApiDocument(VERSION) }),
  ]
  const answers = new OrdinaryAnswers(routes, failed)
  const certificates = certificatesOf(settings, log)
  started.add(() => certificates?.close())

  const listen = async (gate: Gate, where: Parameters<RestServer['listen']>[0]) => {
    const limits = {
      maxConnections: settings.maxConnections,
      requestMs: settings.requestTimeout,
      idleMs: settings.idleTimeout,
    }
    const isFast = settings.fastPath && !isTracing()
    const common = { decisions, answers, gate, isFast, failed, limits }
    const isPlain = certificates === null || 'path' in where
    const server = new RestServer(
      isPlain ? common : { ...common, tls: (accept) => certificates.createServer(accept) },
    )
    const address = await server.listen(where)
    servers.push(server)
    return address
  }
  started.add(async () => {
    await Promise.all(servers.map((server) => server.close(CLOSE_WITHIN_MS)))
  })
  const tokens = new TokenBook()
  const { host, port, socket } = settings
  const addresses = [await listen(new Gate(token, tokens), { host, port })]
  if (socket !== undefined) {
    await removeStale(socket)
    addresses.push(await listen(new Gate(token, tokens, true), { path: socket }))
  }
  if (loaded !== null) {
    const watched = follow(rulesFile!, loaded, tenants, meter, parts)
    started.add(() => watched.close())
  }
  phase = 'ready'

  const stop = async () => {
    phase = 'stopping'
    for (const server of servers) server.drain()
    await wait(settings.drainDelay)
    await started.end(failed)
  }
  let stopping: Promise<void> | undefined
  return { tenants, rulesFile, backing, addresses, stop: () => (stopping ??= stop()) }
}

async function firstRules(file: string): Promise<LoadedRules> {
  const loaded = await loadRules(file)
  if ('faults' in loaded) throw new FaultyRules(file, loaded)
  return loaded
}

function follow(
  file: string,
  loaded: LoadedRules,
  tenants: Tenants,
  meter: Meter,
  parts: ServeParts,
) {
  const { log, refused } = parts
  return watchRules(
    file,
    async (event) => {
      if ('faults' in event) return refused(file, event, tenants.revision)
      const { namespace } = event.rules
      if (namespace !== tenants.home)
        throw new UsageError(
          `the rules are of namespace ${namespace}, and ${tenants.home} is served; a restart changes that`,
        )
      if (event.changes.length > 0) {
        await tenants.use(event.rules)
        tenants.revision++
        meter.use(event.rules)
      }
      for (const warning of event.warnings) log.warn(warning)
      const { revision } = tenants
      log.info(`rules of ${file} are in force`, { revision, count: event.rules.size })
      for (const change of event.changes) log.info(change, { revision })
    },
    { loaded },
  )
}

function readyNow(tenants: Tenants, backing: Backing): Readiness {
  const breaker = backing.reading()?.breaker
  return {
    ready: true,
    rules: { revision: tenants.revision, count: tenants.size },
    store: breaker === undefined ? { kind: backing.kind } : { kind: backing.kind, breaker },
  }
}

function certificatesOf(settings: Settings, log: Log): TlsCertificates | null {
  const { tlsCert, tlsKey, tlsClientCa } = settings
  if (tlsCert === undefined || tlsKey === undefined) return null
  return new TlsCertificates(
    { cert: tlsCert, key: tlsKey, clientCa: tlsClientCa },
    {
      changed: () => log.info('new certificates are in use'),
      refused: (error) =>
        log.error('new certificates are refused; those before stay in use', {
          error: error instanceof Error ? error.message : String(error),
        }),
    },
  )
}

/** A socket that nobody listens on any more is in the way; one that somebody does is theirs. */
async function removeStale(path: string): Promise<void> {
  if (statSync(path, { throwIfNoEntry: false })?.isSocket() !== true) return
  const refusal = await new Promise<string>((resolve) => {
    const socket = connect(path, () => {
      socket.destroy()
      resolve('in use')
    })
    socket.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code ?? 'unknown'))
  })
  if (refusal !== 'ECONNREFUSED')
    throw new UsageError(`--socket ${path} is in use by another process (${refusal})`)
  rmSync(path)
}
