import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { expect } from 'chai';
import { adminKey, startWorld, type World } from '../support/world.js';

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly intValue?: number | string };
}

interface SentSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly attributes: readonly Attribute[];
  readonly status?: { readonly code?: number };
}

interface Sent {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly SentSpan[] }[];
  }[];
}

/** A collector of traces: it takes what is sent by OTLP over HTTP as JSON. */
class Collector {
  readonly sent: Sent[] = [];
  private constructor(private readonly server: Server) {}

  static async start(): Promise<Collector> {
    const server = createServer();
    const collector = new Collector(server);
    server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks);
        const isTraces = request.method === 'POST' && request.url === '/v1/traces';
        if (isTraces) {
          const text = request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
          collector.sent.push(JSON.parse(text.toString()) as Sent);
        }
        response.writeHead(isTraces ? 200 : 404, { 'content-type': 'application/json' }).end('{}');
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return collector;
  }

  get address(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  get spans(): readonly SentSpan[] {
    return this.sent.flatMap(({ resourceSpans }) => resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)));
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

const attribute = ({ attributes }: Pick<SentSpan, 'attributes'>, key: string): string | undefined => {
  const value = attributes.find((one) => one.key === key)?.value;
  const found = value?.stringValue ?? value?.intValue;
  return found === undefined ? undefined : String(found);
};

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const parentId = '00f067aa0ba902b7';

describe('Traces', () => {
  let collector: Collector;
  let world: World;
  before(async () => {
    collector = await Collector.start();
    world = await startWorld({ settings: { otlpEndpoint: collector.address, metricsPort: 0 } });
    await world.event(
      'flashcards-viewed',
      { user: { id: 'private-id', email: 'private@b.example' }, value: 1 },
      { traceparent: `00-${traceId}-${parentId}-01`, 'x-request-id': 'traced-1' },
    );
    await world.get('/v1/users/private-id?private=private');
    await world.get('/v1/users/private-other');
    await world.drain();
    // A stop sends what has not been sent.
    await world.stopService();
  });
  after(async () => {
    await world.stop();
    await collector.stop();
  });

  const named = (name: string): readonly SentSpan[] => collector.spans.filter((span) => span.name === name);
  const requestOf = (name: string): SentSpan => {
    const [span] = named(name);
    if (!span) throw new Error(`no span ${name} among ${collector.spans.map((one) => one.name).join(', ')}`);
    return span;
  };

  it('have a span for each request, by its route, which goes on with the trace of its caller', () => {
    const span = requestOf('POST /v1/metrics/:key/event');
    expect(span).to.include({ traceId, parentSpanId: parentId, kind: 2 });
    expect(attribute(span, 'http.route')).to.equal('/v1/metrics/:key/event');
    expect(attribute(span, 'http.response.status_code')).to.equal('201');
    expect(attribute(span, 'laurel.request_id')).to.equal('traced-1');
  });

  it('begin a trace for a request whose caller has none', () => {
    const [found, missing] = named('GET /v1/users/:id');
    expect(found?.traceId)
      .to.match(/^[0-9a-f]{32}$/)
      .and.not.equal(traceId);
    expect(found?.parentSpanId ?? '').to.equal('');
    expect(missing && attribute(missing, 'http.response.status_code')).to.equal('404');
  });

  it('have a span for the call of the function below that of its request', () => {
    const request = requestOf('POST /v1/metrics/:key/event');
    const calls = named('FCALL track').filter((span) => span.parentSpanId === request.spanId);
    expect(calls).to.have.lengthOf.at.least(1);
    expect(calls[0]).to.include({ traceId, kind: 3 });
  });

  it('have a trace of its own for a batch of the write-behind', () => {
    const span = requestOf('write-behind batch');
    expect(span.traceId).not.to.equal(traceId);
    expect(Number(attribute(span, 'laurel.entries'))).to.be.at.least(1);
  });

  it('have no spans for background jobs', () => {
    const ids = new Set(collector.spans.map(({ spanId }) => spanId));
    const calls = collector.spans.filter(({ name }) => name.startsWith('FCALL'));
    expect(calls.filter(({ parentSpanId }) => !ids.has(parentSpanId ?? ''))).to.deep.equal([]);
  });

  it('name the service, and no users or keys', () => {
    const [first] = collector.sent;
    expect(first && attribute(first.resourceSpans[0]!.resource, 'service.name')).to.equal('laurel');
    const sent = JSON.stringify(collector.sent);
    expect(sent).not.to.contain('private');
    expect(sent).not.to.contain(adminKey);
  });
});

describe('A collector of traces that is away', () => {
  it('delays neither a response nor the stop of the service', async () => {
    const gone = await Collector.start();
    const { address } = gone;
    await gone.stop();
    const world = await startWorld({ settings: { otlpEndpoint: address } });
    try {
      const { status } = await world.event('flashcards-viewed', { user: { id: 'ana' }, value: 1 });
      expect(status).to.equal(201);
      const begun = Date.now();
      await world.stopService();
      expect(Date.now() - begun).to.be.below(15_000);
    } finally {
      await world.stop();
    }
  });
});
