/**
 * The composition root of the service: everything is made here, started in order and stopped in reverse.
 * Ready only when it can decide; not ready any more from the moment it is asked to stop.
 */
import { rmSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { openApiDocument } from '@sluice/contract'
import { adminLimit } from './admin-limit.js'
import { type Settings, UsageError } from './config.js'
import { type Backing, openBacking } from './counters/backing.js'
import { Decisions, type Observer } from './decisions.js'
import { HotRows } from './hot/hot-rows.js'
import { OrdinaryAnswers } from './http/answers.js'
import { Vouchers } from './receipts/vouchers.js'
import type { Readiness } from './routes/operating.js'
import { routesOf } from './routes/routes.js'
import type { RefusedRules } from './rules-file/load-rules.js'
import { Gate } from './security/gate.js'
import { TlsCertificates } from './security/tls-files.js'
import { TokenBook } from './security/token-book.js'
import { Started } from './started.js'
import { type RulesFrom, senseOf } from './startup-sense.js'
import { firstRules, openSupply, type Supply } from './supply/supply.js'
import { Denials } from './telemetry/denials.js'
import type { Log } from './telemetry/log.js'
import { Meter } from './telemetry/meter.js'
import { metricsOf } from './telemetry/metrics.js'
import { MetricsText } from './telemetry/metrics-text.js'
import { isTracing } from './telemetry/tracing.js'
import { Tenants } from './tenants.js'
import { AuthErrors } from './transports/rest/auth-errors.js'
import { RestServer } from './transports/rest/rest-server.js'
import { VERSION } from './version.js'
import { within } from './within.js'

/** The system cuts off what is longer, silently. */
const LONGEST_SOCKET_PATH = 107
/** All of it is over within ten seconds: the delay before, this, and the writing of counters. */
const CLOSE_WITHIN_MS = 4000

/** Rules whose hottest row has a metric. */
const HOTTEST_RULES = 20
const AGED_EVERY_MS = 1000

/** A store that does not take its tokens back is not waited for: they count as spent in a moment anyway. */
const RETURN_WITHIN_MS = 2000

export interface ServeParts {
  readonly settings: Settings
  readonly log: Log
  /** A rules file was saved with faults; the rules before stay in force. */
  readonly refused: (file: string, refused: RefusedRules, revision: number) => void
}

export interface Service {
  readonly tenants: Tenants
  readonly rules: RulesFrom
  /** Where history is kept; null where it is not. */
  readonly history: string | null
  readonly backing: Backing
  /** Where it listens: `127.0.0.1:4290`, and the path of a socket. */
  readonly addresses: readonly string[]
  stop(): Promise<void>
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
  const sense = senseOf(settings)
  const loaded = await firstRules(sense)

  const backing = await openBacking(settings, log)
  started.add(() => backing.close())
  const tenants = new Tenants(backing.store)
  // Before the connection goes: what was leased is given back.
  started.add(() => within(RETURN_WITHIN_MS, Promise.resolve(backing.store.close())))
  const vouchers = new Vouchers({
    secret: backing.secret,
    once: backing.once,
    now: () => backing.now(),
  })
  await backing.shareSecret((secret) => vouchers.adopt(secret))

  const meter = new Meter()
  const tokens = new TokenBook()
  const supply = await openSupply(
    { ...parts, sense, tenants, tokens, meter, backing, started },
    loaded,
  )
  const denials = new Denials(log)
  started.add(() => denials.close())
  const { tally } = supply
  const hot = new HotRows({ now: () => performance.now() })
  const ageing = setInterval(() => hot.age(), AGED_EVERY_MS).unref()
  started.add(() => clearInterval(ageing))
  const observer: Observer = {
    decided: (decision, request, namespace, isAsked) => {
      meter.decided(decision, request, namespace)
      hot.decided(decision, namespace, isAsked)
      tally?.decided(decision, request, namespace, isAsked)
      if (!decision.allowed) denials.note(decision, namespace)
    },
    took: (transport, seconds, count) => meter.took(transport, seconds, count),
  }
  const decisions = new Decisions({
    tenants,
    vouchers,
    observer,
    headerFamilies: settings.headers,
    answers: settings.answers,
  })

  if (settings.answers === 'full')
    log.warn(
      '--answers full is deprecated and goes with the next release; send include for limits and receipts',
      { code: 'deprecated_setting' },
    )

  const authErrors = new AuthErrors(log)
  const servers: RestServer[] = []
  let phase: 'starting' | 'ready' | 'stopping' = 'starting'
  const readiness = (): Readiness =>
    phase === 'ready' ? readyNow(tenants, backing, supply) : { ready: false, reason: phase }
  const metrics = metricsOf({
    meter,
    version: VERSION,
    revision: () => tenants.revision,
    supply: () => supply.reading(),
    connections: () => servers.reduce((sum, server) => sum + server.connections, 0),
    store: () => backing.reading(),
    memory: () => backing.size(),
    clockStepsBack: () => backing.clockStepsBack(),
    hot: () => hot.rules(HOTTEST_RULES),
    authErrors: () => authErrors.counts,
  })
  const failed = (error: unknown) => {
    const said = error instanceof Error ? (error.stack ?? error.message) : String(error)
    log.error('a defect', { code: 'internal', error: said })
  }
  const routes = routesOf({
    auth: { decisions, allowed: settings.authHeaders, log },
    control: supply.control,
    usage: supply.usage,
    hot: { hot, tenants, leasing: backing.kind === 'redis' ? settings.leases : null },
    operating: {
      readiness,
      metrics: new MetricsText(metrics),
      openApi: () => openApiDocument({ version: VERSION, isFull: decisions.answers === 'full' }),
    },
  })
  const answers = new OrdinaryAnswers(routes, failed, adminLimit(backing.store))
  const certificates = certificatesOf(settings, log)
  started.add(() => certificates?.close())

  const listen = async (gate: Gate, where: Parameters<RestServer['listen']>[0]) => {
    const limits = {
      maxConnections: settings.maxConnections,
      requestMs: settings.requestTimeout,
      idleMs: settings.idleTimeout,
    }
    const isFast = settings.fastPath && !isTracing()
    const common = { decisions, answers, gate, authErrors, isFast, failed, limits }
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
  const { host, port, socket } = settings
  const addresses = [await listen(new Gate(sense.token, tokens), { host, port })]
  if (socket !== undefined) {
    await removeStale(socket)
    addresses.push(await listen(new Gate(sense.token, tokens, true), { path: socket }))
  }
  phase = 'ready'

  const stop = async () => {
    phase = 'stopping'
    for (const server of servers) server.drain()
    await wait(settings.drainDelay)
    await started.end(failed)
  }
  let stopping: Promise<void> | undefined
  return {
    tenants,
    rules: sense.rules,
    history: supply.history,
    backing,
    addresses,
    stop: () => (stopping ??= stop()),
  }
}

function readyNow(tenants: Tenants, backing: Backing, supply: Supply): Readiness {
  const { feed, planes, database, isDatabaseAway } = supply.reading()
  const breaker = backing.reading()?.breaker
  const state: Readiness = {
    ready: supply.isKnown(),
    rules: { revision: tenants.revision, count: tenants.size },
    store: breaker === undefined ? { kind: backing.kind } : { kind: backing.kind, breaker },
    ...(feed === null
      ? {}
      : {
          feed: {
            revision: feed.revision,
            head: feed.head,
            lag_seconds: feed.lag,
            away: feed.isAway,
          },
        }),
    ...(database === null ? {} : { database: { kind: database, away: isDatabaseAway === true } }),
    ...(planes.length === 0
      ? {}
      : {
          planes: planes.map(({ instance, host, revision, lag, seen, isOlder }) => ({
            instance,
            host,
            revision,
            lag_seconds: lag,
            seen_seconds: seen,
            ...(isOlder ? { older: true as const } : {}),
          })),
        }),
  }
  return state.ready ? state : { ...state, reason: 'no rules are known yet' }
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
  if (Buffer.byteLength(path) > LONGEST_SOCKET_PATH)
    throw new UsageError(
      `--socket ${path} is longer than ${LONGEST_SOCKET_PATH} bytes, more than a socket may be named with`,
    )
  if (statSync(path, { throwIfNoEntry: false })?.isSocket() !== true) return
  const refusal = await new Promise<string>((resolve) => {
    const socket = connect(path, () => {
      socket.destroy()
      resolve('it answers')
    })
    socket.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code ?? 'unknown'))
  })
  if (refusal !== 'ECONNREFUSED')
    throw new UsageError(`--socket ${path} is in use by another process (${refusal})`)
  rmSync(path)
}
