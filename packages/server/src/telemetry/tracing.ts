/** Spans, through OpenTelemetry's API alone: without an SDK in the process they cost nothing and go nowhere. */
import type { IncomingHttpHeaders } from 'node:http'
import { context, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { DecisionRecord } from '@sluice/limiter/transport'

const tracer = trace.getTracer('sluice')

/** Whether an SDK is there to take spans. */
export function isTracing(): boolean {
  const provider = trace.getTracerProvider() as { getDelegateTracer?(name: string): unknown }
  return provider.getDelegateTracer?.('sluice') !== undefined
}

/** A span around a decision, under the caller's if the headers name one. A no is no error. */
export async function traced(
  headers: IncomingHttpHeaders,
  decide: () => Promise<DecisionRecord>,
): Promise<DecisionRecord> {
  const parent = propagation.extract(context.active(), headers)
  const span = tracer.startSpan('sluice.check', { kind: SpanKind.SERVER }, parent)
  if (!span.isRecording()) return decide()
  try {
    const decision = await context.with(trace.setSpan(parent, span), decide)
    span.setAttributes({
      'sluice.rule': decision.rule ?? '',
      'sluice.scope': decision.scope ?? '',
      'sluice.outcome': decision.allowed ? 'allowed' : (decision.reason ?? 'limited'),
      'sluice.degraded': decision.degraded,
    })
    return decision
  } catch (error) {
    span.recordException(error instanceof Error ? error : String(error))
    throw error
  } finally {
    span.end()
  }
}

/** A span around a command of Redis; one command may serve many decisions. */
export async function tracedCommand<T>(command: string, run: () => Promise<T>): Promise<T> {
  const span = tracer.startSpan(command, {
    kind: SpanKind.CLIENT,
    attributes: { 'db.system.name': 'redis', 'db.operation.name': command },
  })
  try {
    return await run()
  } catch (error) {
    span.setAttribute('error.type', error instanceof Error ? error.name : 'unknown')
    span.setStatus({ code: SpanStatusCode.ERROR })
    throw error
  } finally {
    span.end()
  }
}
