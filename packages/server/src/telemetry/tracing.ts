/** Spans, through OpenTelemetry's API alone: without an SDK in the process they cost nothing and go nowhere. */
import type { IncomingHttpHeaders } from 'node:http'
import { context, propagation, SpanKind, trace } from '@opentelemetry/api'
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
