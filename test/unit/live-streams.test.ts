import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect } from 'chai';
import fc from 'fast-check';
import type { Principal } from '../../src/access/key-ring.js';
import { BoardView } from '../../src/live/board-view.js';
import { firstMessages, messagesBetween } from '../../src/live/board-changes.js';
import { Connections } from '../../src/live/connections.js';
import { limits } from '../../src/shared/limits.js';
import { LiveClient, merged, parseMessages } from '../support/event-stream.js';
import { boardState, rowsArbitrary } from '../support/live-states.js';
import { until } from '../support/stage.js';

describe('The messages between two states of a leaderboard', () => {
  it('lead from one to the other, and are never longer than a snapshot', () => {
    fc.assert(
      fc.property(rowsArbitrary, rowsArbitrary, fc.boolean(), (rowsBefore, rowsAfter, isFinal) => {
        const [before, after] = [boardState(rowsBefore), boardState(rowsAfter, { isFinal })];
        const messages = [firstMessages(before), messagesBetween(before, after)].flatMap((part) => parseMessages(String(part ?? '')));
        expect(merged(messages)).to.deep.equal(merged(parseMessages(String(firstMessages(after)))));
        expect(messages.at(-1)?.id).to.equal(after.id);
        expect(messages.filter(({ event }) => event === 'finished').length).to.equal(isFinal ? 1 : 0);
        const change = messages.find(({ event }) => event === 'change');
        if (change) expect(JSON.stringify(change.data).length).to.be.below(after.json.length);
      }),
    );
  });

  it('are none between equal states, and the end of a run before the snapshot of the next', () => {
    const rows = [{ userId: 'ana', userName: null, rank: 1, value: 1 }];
    const state = boardState(rows);
    expect(messagesBetween(state, boardState(rows))).to.equal(undefined);
    const next = parseMessages(String(messagesBetween(state, boardState([], { run: 1 }))));
    expect(next.map(({ event }) => event)).to.deep.equal(['finished', 'snapshot']);
  });
});

describe('The streams of a process', () => {
  const principal: Principal = { kind: 'admin', keyId: 'key', prefix: 'p', tenant: null, userId: null, access: 'read' };
  let server: Server;
  let connections: Connections;
  let view: BoardView;
  let valid: () => Promise<unknown>;
  let clockMs: number;
  let address: string;
  let caller: Principal;
  let responses: ServerResponse[];
  let started: number;
  /** What streams wait for between their slot and their begin. */
  let hold: Promise<void>;
  let release: () => void;
  const waiting = (): number => responses[0]?.writableLength ?? 0;
  const sockets: Socket[] = [];
  beforeEach(async () => {
    valid = () => Promise.resolve();
    [clockMs, caller, responses, started, hold] = [0, principal, [], 0, Promise.resolve()];
    connections = new Connections({
      bounds: { liveConnections: 9, liveConnectionsPerTenant: 9, liveConnectionsPerKey: 9, liveBufferKb: 16 },
      now: () => clockMs,
      recheck: () => valid(),
    });
    view = new BoardView({
      ...{
        tenant: 1,
        key: 'k',
        query: { offset: 0, limit: 10, run: undefined, userId: undefined, userAttributes: new Map(), userIds: undefined },
      },
      read: () => Promise.resolve(boardState([])),
      onFailure: () => true,
      onPlace: () => undefined,
      onChange: () => undefined,
    });
    await view.open();
    server = createServer((_request, response) => {
      const slot = connections.reserve(1, { ...caller, expires: new Date(1_000_000) });
      responses.push(response);
      void hold.then(() => {
        if (!response.destroyed) response.writeHead(200);
        connections.start(slot, response, { view, lastId: undefined });
        started += 1;
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(() => {
    view.stop();
    for (const socket of sockets.splice(0)) socket.destroy();
    server.closeAllConnections();
    server.close();
  });

  /** Connects, and sends requests. Nothing is read before `resume`. */
  function send(requests: string): Socket {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    sockets.push(socket);
    socket.pause();
    socket.write(requests);
    return socket;
  }
  const oneRequest = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

  it('leave messages out while a client does not read, and send it the state once it has, instead of disconnecting it again and again', async () => {
    const socket = send(oneRequest);
    await until('it is connected', () => connections.count === 1);
    const large = Buffer.from(`:${'x'.repeat(2 ** 20)}\n\n`);
    for (let i = 0; i < 100; i += 1) for (const watcher of view.watchers) watcher.send(large, `id-${i}`);
    expect(connections.counts.slow).to.equal(1);
    expect(waiting()).to.be.below(2 * large.length);
    let received = '';
    socket.setEncoding('utf8').on('data', (text: string) => (received += text.replaceAll('x', '')));
    socket.resume();
    await until('the state arrives', () => received.split('event: snapshot').length === 3);
    expect(connections.count).to.equal(1);
  });

  it('forget a client that pipelines a second stream behind the first, once it disconnects', async () => {
    const socket = send(oneRequest + oneRequest);
    await until('both are served', () => responses.length === 2);
    expect([connections.count, view.watchers.size]).to.deep.equal([1, 1]);
    socket.destroy();
    await until('it is gone', () => connections.count === 0);
    expect(view.watchers.size).to.equal(0);
    for (let i = 0; i < 9; i += 1) connections.reserve(1, principal);
  });

  it('forget a client that disconnects before the headers are sent', async () => {
    hold = new Promise((resolve) => void (release = resolve));
    const socket = send(oneRequest);
    await until('it is served', () => responses.length === 1);
    socket.destroy();
    await until('the server knows', () => responses[0]?.destroyed === true);
    release();
    await until('the stream has begun', () => started === 1);
    expect([connections.count, view.watchers.size]).to.deep.equal([0, 0]);
    for (let i = 0; i < 9; i += 1) connections.reserve(1, principal);
  });

  it('end when the user that their token is bound to is deleted, also before they have begun', async () => {
    const ofUser = {
      ...principal,
      live: { holder: 'h', leaderboards: [], userId: 'ana', asOf: { atMs: 0, deleted: '0-0' }, expires: new Date(1e6) },
    };
    caller = ofUser;
    const client = await LiveClient.open(address, '/');
    await client.message('the snapshot', () => true);
    connections.endOf(2, new Set(['ana']));
    connections.endOf(1, new Set(['ben']));
    expect(connections.count).to.equal(1);
    hold = new Promise((resolve) => void (release = resolve));
    const opening = LiveClient.open(address, '/');
    await until('it is served', () => responses.length === 2);
    connections.endOf(1, new Set(['ana']));
    release();
    for (const one of [client, await opening]) await one.over();
    expect(connections.count).to.equal(0);
  });

  it('send a comment to a client that gets no messages', async () => {
    const client = await LiveClient.open(address, '/');
    await client.message('the snapshot', () => true);
    connections.tick(performance.now() + limits.liveHeartbeatMs - 1_000);
    connections.tick(performance.now() + limits.liveHeartbeatMs);
    await until('the comment', () => client.comments > 0);
    expect(client.comments).to.equal(1);
    client.close();
  });

  it('end when their key expires or is revoked, and go on while that can’t be looked up', async () => {
    const client = await LiveClient.open(address, '/');
    valid = () => Promise.reject(new Error('Postgres is away'));
    connections.recheck();
    connections.tick();
    expect(connections.count).to.equal(1);
    clockMs = 1_000_000;
    connections.tick();
    await client.over();
  });
});
