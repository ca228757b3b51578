import { createServer, type Server } from 'node:http';
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
  const sockets: Socket[] = [];
  beforeEach(async () => {
    valid = () => Promise.resolve();
    clockMs = 0;
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
      const expires = new Date(1_000_000);
      response.writeHead(200);
      connections.start(connections.reserve(1, { ...principal, expires }), response, { view, lastId: undefined });
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

  it('cut off a client that does not read', async () => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    sockets.push(socket);
    socket.pause();
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await until('it is connected', () => connections.count === 1);
    const large = Buffer.alloc(2 ** 20, 'x');
    for (let i = 0; i < 100 && connections.counts.slow === 0; i += 1) for (const watcher of [...view.watchers]) watcher.send(large);
    expect(connections.counts.slow).to.equal(1);
    await until('it is gone', () => connections.count === 0);
    expect(view.watchers.size).to.equal(0);
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
