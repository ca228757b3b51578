import { context, diag, DiagLogLevel, propagation, SpanKind, SpanStatusCode, trace, type Span, type Tracer } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import type { IncomingHttpHeaders } from 'node:http';
import type { Logger } from 'pino';
import type { AroundCall } from '../engine/function-calls.js';
import type { TraceBatch } from '../ledger/write-behind.js';
import { limits } from '../shared/limits.js';
import type { HandledRequest } from './service-metrics.js';

/** A request that has begun. */
interface TracedRequest {
  readonly id: string;
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
}

/** Spans for requests, their calls of the function library, and the batches of the write-behind. */
export interface Tracing {
  readonly request: (request: TracedRequest, handle: () => Promise<void>, outcome: () => HandledRequest) => Promise<void>;
  readonly call: AroundCall;
  readonly batch: TraceBatch;
  /** Sends the remaining spans. */
  stop(): Promise<void>;
}

/**
 * Sends traces to a collector, by OTLP over HTTP at `<endpoint>/v1/traces`. Imported only when traces are on. Spans contain routes, functions and
 * numbers, and no request contents or user data. The SDK reads sampling and headers from its own variables (OTEL_TRACES_SAMPLER,
 * OTEL_EXPORTER_OTLP_HEADERS).
 */
export function startTracing(endpoint: string, log: Logger): Tracing {
  diag.setLogger(diagnostics(log), DiagLogLevel.ERROR);
  const exporter = new OTLPTraceExporter({ url: `${endpoint.replace(/\/+$/, '')}/v1/traces`, timeoutMillis: limits.tracesSendMs });
  const named = detectResources({ detectors: [envDetector] });
  const provider = new NodeTracerProvider({
    // Later ones win: OTEL_SERVICE_NAME over the default name.
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
      // An unavailable collector must not fail the shutdown.
      await provider.shutdown().catch(() => undefined);
      for (const api of [trace, context, propagation, diag]) api.disable();
    },
  };
}

/** Server spans, which continue the caller's trace if a `traceparent` header has one. */
function traceRequest(tracer: Tracer): Tracing['request'] {
  return async ({ id, method, headers }, handle, outcome) => {
    const parent = propagation.extract(context.active(), headers);
    const span = tracer.startSpan(method, { kind: SpanKind.SERVER, attributes: { 'laurel.request_id': id } }, parent);
    try {
      await context.with(trace.setSpan(parent, span), handle);
    } finally {
      const { route, status } = outcome();
      span.updateName(`${method} ${route}`);
      span.setAttributes({ 'http.request.method': method, 'http.route': route, 'http.response.status_code': status });
      if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    }
  };
}

/** Client spans for calls within a trace; the sweep's calls are not traced. */
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

/** A span for each batch; created when it ends, since most checks find no entries. */
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

/** Records only the kind of an error: messages may contain request data. */
function fail(span: Span, error: unknown): void {
  span.setAttribute('error.type', error instanceof Error ? error.name : typeof error);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

function diagnostics(log: Logger): Parameters<typeof diag.setLogger>[0] {
  const nothing = (): void => undefined;
  const error = (): void => {
    log.warn('sending traces to OTEL_EXPORTER_OTLP_ENDPOINT failed');
  };
  return { error, warn: nothing, info: nothing, debug: nothing, verbose: nothing };
}
