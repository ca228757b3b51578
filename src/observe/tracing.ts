import { context, diag, DiagLogLevel, propagation, SpanKind, SpanStatusCode, trace, type Span, type Tracer } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import type { IncomingHttpHeaders } from 'node:http';
import type { Logger } from 'pino';
import type { AroundCall } from '../engine/engine.js';
import type { TraceBatch } from '../ledger/write-behind.js';
import { limits } from '../shared/limits.js';
import type { HandledRequest } from './service-metrics.js';

/** A request that is to be answered. */
interface TracedRequest {
  readonly id: string;
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
}

/** Spans for requests, for the calls of the function library that they make, and for the batches of the write-behind. */
export interface Tracing {
  readonly request: (request: TracedRequest, answer: () => Promise<void>, outcome: () => HandledRequest) => Promise<void>;
  readonly call: AroundCall;
  readonly batch: TraceBatch;
  /** Sends what has not been sent. */
  stop(): Promise<void>;
}

/**
 * Sends traces to a collector, by OTLP over HTTP at `<endpoint>/v1/traces`. This module is only loaded when traces are switched on. Spans name routes, functions and
 * numbers; nothing of what was sent or of whom it is about. How many traces are kept, and with which headers they are
 * sent, the SDK takes from its own variables (OTEL_TRACES_SAMPLER, OTEL_EXPORTER_OTLP_HEADERS).
 */
export function startTracing(endpoint: string, log: Logger): Tracing {
  diag.setLogger(diagnostics(log), DiagLogLevel.ERROR);
  const exporter = new OTLPTraceExporter({ url: `${endpoint.replace(/\/+$/, '')}/v1/traces`, timeoutMillis: limits.tracesSendMs });
  const named = detectResources({ detectors: [envDetector] });
  const provider = new NodeTracerProvider({
    // The later ones win: OTEL_SERVICE_NAME over our name.
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': 'laurel' }))
      .merge(named),
    spanProcessors: [new BatchSpanProcessor(exporter)],
  });
  provider.register();
  const tracer = provider.getTracer('laurel');
  return {
    request: traceRequest(tracer),
    call: traceCall(tracer),
    batch: traceBatch(tracer),
    stop: async () => {
      // A collector that is away is no reason not to stop in order.
      await provider.shutdown().catch(() => undefined);
      for (const api of [trace, context, propagation, diag]) api.disable();
    },
  };
}

/** Server spans, which go on with the caller's trace if a `traceparent` header names one. */
function traceRequest(tracer: Tracer): Tracing['request'] {
  return async ({ id, method, headers }, answer, outcome) => {
    const parent = propagation.extract(context.active(), headers);
    const span = tracer.startSpan(method, { kind: SpanKind.SERVER, attributes: { 'laurel.request_id': id } }, parent);
    try {
      await context.with(trace.setSpan(parent, span), answer);
    } finally {
      const { route, status } = outcome();
      span.updateName(`${method} ${route}`);
      span.setAttributes({ 'http.request.method': method, 'http.route': route, 'http.response.status_code': status });
      if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    }
  };
}

/** Client spans for calls on behalf of something that is traced. What the sweep does all day is not a trace each. */
function traceCall(tracer: Tracer): AroundCall {
  return async (name, call) => {
    if (!trace.getActiveSpan()) return call();
    const attributes = { 'db.system.name': 'redis', 'db.operation.name': 'FCALL', 'laurel.function': name };
    const span = tracer.startSpan(`FCALL ${name}`, { kind: SpanKind.CLIENT, attributes });
    try {
      return await call();
    } catch (error) {
      fail(span, error);
      throw error;
    } finally {
      span.end();
    }
  };
}

/** A span for each batch; made when it is over, since most looks find nothing to write. */
function traceBatch(tracer: Tracer): TraceBatch {
  return async (tenant, write) => {
    const startTime = Date.now();
    const begin = (): Span => tracer.startSpan('write-behind batch', { startTime, root: true, attributes: { 'laurel.tenant': tenant } });
    try {
      const committed = await write();
      if (typeof committed === 'number' && committed > 0) begin().setAttribute('laurel.entries', committed).end();
      return committed;
    } catch (error) {
      const span = begin();
      fail(span, error);
      span.end();
      throw error;
    }
  };
}

/** The kind of an error alone: messages may hold what was sent. */
function fail(span: Span, error: unknown): void {
  span.setAttribute('error.type', error instanceof Error ? error.name : typeof error);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

function diagnostics(log: Logger): Parameters<typeof diag.setLogger>[0] {
  const nothing = (): void => undefined;
  const error = (): void => {
    log.warn('traces could not be sent to OTEL_EXPORTER_OTLP_ENDPOINT');
  };
  return { error, warn: nothing, info: nothing, debug: nothing, verbose: nothing };
}
