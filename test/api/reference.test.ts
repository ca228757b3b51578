import { Validator } from '@seriousme/openapi-schema-validator';
import { expect } from 'chai';
import { limits } from '../../src/shared/limits.js';
import { version } from '../../src/shared/version.js';
import { answerProblems, apis } from '../support/reference.js';
import { startWorld, type World } from '../support/world.js';

interface Document {
  readonly openapi: string;
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
}

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly parameters: readonly { readonly name?: string; readonly $ref?: string; readonly schema?: unknown }[];
  readonly responses: Readonly<Record<string, { readonly $ref?: string }>>;
}

const operationsOf = (document: Document): Operation[] => Object.values(document.paths).flatMap((path) => Object.values(path));

describe('The reference', () => {
  let world: World;
  let application: Document;
  let admin: Document;
  /** An answer, read to its end: one that is not keeps its connection. */
  const get = async (path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(world.address + path, { headers });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const load = async (path: string): Promise<Document> => JSON.parse((await get(path)).text) as Document;
  before(async () => {
    world = await startWorld();
    application = await load('/v1/openapi');
    admin = await load('/admin/v1/openapi');
  });
  after(() => world.stop());

  it('is valid OpenAPI 3.1', async () => {
    for (const document of [application, admin]) {
      expect(document.openapi).to.match(/^3\.1\./);
      const { valid, errors } = await new Validator().validate(document as unknown as Record<string, unknown>);
      expect(errors).to.equal(undefined);
      expect(valid).to.equal(true);
    }
  });

  it('is served without a key, and under /api as under /v1', async () => {
    expect(await load('/api/openapi')).to.deep.equal(application);
    expect(application.servers).to.deep.equal([{ url: '/v1' }, { url: '/api' }]);
    expect(admin.servers).to.deep.equal([{ url: '/admin/v1' }]);
    const response = await get('/v1/openapi');
    expect(response.headers.get('content-type')).to.match(/^application\/json/);
  });

  it('is where / redirects when the dashboard is off', async () => {
    const leadsTo = async (address: string): Promise<unknown[]> => {
      const response = await fetch(`${address}/`, { redirect: 'manual' });
      await response.arrayBuffer();
      return [response.status, response.headers.get('location')];
    };
    expect(await leadsTo(world.address)).to.deep.equal([302, '/dashboard']);
    const plain = await startWorld({ settings: { dashboard: false } });
    try {
      expect(await leadsTo(plain.address)).to.deep.equal([302, '/docs']);
    } finally {
      await plain.stop();
    }
  });

  it('is not needed to find out whether the process responds', async () => {
    for (const path of ['/health', '/health/live']) {
      const { status, text } = await get(path);
      expect([status, JSON.parse(text)]).to.deep.equal([200, { status: 'live', version }]);
    }
  });

  it('has every route once, under a name of its own', () => {
    for (const [api, , routes] of apis) {
      const named = operationsOf(api === 'admin' ? admin : application).map(({ operationId }) => operationId);
      expect(named.sort()).to.deep.equal(routes.map(({ operation }) => operation).sort());
      expect(new Set(named).size).to.equal(named.length);
    }
  });

  it('documents the bounds that are checked', () => {
    const operation = application.paths['/users/{id}/points/{key}']?.['get'];
    expect(operation?.tags).to.deep.equal(['Users']);
    expect(operation?.parameters.find(({ name }) => name === 'awards')?.schema).to.deep.equal({
      type: 'integer',
      minimum: 1,
      maximum: limits.maxAwardsRead,
      default: 10,
    });
    expect(operation?.responses['429']).to.deep.equal({ $ref: '#/components/responses/TooManyRequests' });
    const ids = admin.paths['/streaks/pauses']?.['delete']?.parameters.find(({ name }) => name === 'ids')?.schema;
    expect(ids).to.deep.include({ type: 'array', minItems: 1, maxItems: limits.maxBatchItems, items: { type: 'string', format: 'uuid' } });
  });

  it('documents the headers', () => {
    const headersOf = (operation: Operation | undefined): (string | undefined)[] => (operation?.parameters ?? []).map(({ $ref }) => $ref);
    const tenant = '#/components/parameters/TenantId';
    const key = '#/components/parameters/IdempotencyKey';
    expect(headersOf(application.paths['/metrics/{key}/event']?.['post'])).to.include.members([tenant, key]);
    for (const operation of [...operationsOf(application), ...operationsOf(admin)]) expect(headersOf(operation)).to.include(tenant);
  });

  it('is enforced: a response that differs from it fails a test', () => {
    const problems = (status: number, body: unknown): string[] => answerProblems('PUT', '/v1/users/ana?x=1', status, body);
    const dates = { created: '2040-01-02T12:00:00.000Z', updated: '2040-01-02T12:00:00.000Z' };
    const texts = { id: 'ana', email: null, name: null, tz: null, signUpDate: null, deviceTokens: null };
    const user = { ...texts, ...dates, subscribeToEmails: true, attributes: {}, control: false };
    expect(problems(200, user)).to.deep.equal([]);
    expect(problems(200, { ...user, mood: 'good' })).to.have.lengthOf(1);
    expect(problems(200, { ...user, name: undefined })).to.have.lengthOf(1);
    expect(problems(200, { ...user, created: 'today' })).to.have.lengthOf(1);
    expect(problems(201, user)).to.deep.equal(['users_identify returned the undocumented status 201']);
    expect(problems(404, { error: 'There is no tenant.' })).to.deep.equal([]);
    expect(problems(404, {})).to.have.lengthOf(1);
  });

  describe('has a page', () => {
    it('that loads only its own files', async () => {
      const response = await get('/docs');
      const html = response.text;
      expect(response.headers.get('content-type')).to.match(/^text\/html/);
      const policy = response.headers.get('content-security-policy') ?? '';
      expect(policy).to.include("default-src 'none'").and.include("script-src 'self';").and.include("frame-ancestors 'none'");
      const loaded = Array.from(html.matchAll(/(?:src|href)="([^"]+)"/g), ([, path = '']) => path);
      expect(loaded).to.have.lengthOf(5);
      expect(html).to.not.match(/<script>|\son\w+=/);
      for (const path of loaded) {
        const file = await get(path);
        expect([path, file.status, file.headers.get('x-content-type-options')]).to.deep.equal([path, 200, 'nosniff']);
        expect(file.text.length).to.be.above(100);
      }
    });

    it('that offers both documents, and sends requests to this server only', async () => {
      const script = (await get('/docs/start.js')).text;
      expect(script).to.include('"/v1/openapi"').and.include('"/admin/v1/openapi"').and.include('validatorUrl: null');
      expect(script).to.not.match(/https?:/);
    });

    it('whose files are sent once', async () => {
      const first = await get('/docs/swagger-ui.css');
      const etag = first.headers.get('etag') ?? '';
      const headers = { 'if-none-match': etag, 'cache-control': 'max-age=0' };
      const again = await get('/docs/swagger-ui.css', headers);
      expect(again.status).to.equal(304);
    });

    it('and serves nothing else of the package', async () => {
      for (const path of ['/docs/package.json', '/docs/..%2fpackage.json', '/docs/index.html'])
        expect((await get(path)).status).to.equal(404);
    });
  });
});
