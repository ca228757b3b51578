import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { pipeline } from 'node:stream';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { fileURLToPath } from 'node:url';

/** The path of a certificate or a key (test/support/tls/README.md). */
export const pemFile = (name: string): string => fileURLToPath(new URL(`tls/${name}.pem`, import.meta.url));
export const pem = (name: string): string => readFileSync(pemFile(name), 'utf8');

export interface TlsOptions {
  /** Which certificate it shows. */
  readonly certificate?: 'server' | 'elsewhere' | 'expired';
  /** It takes only clients that show a certificate of the authority `ca`. */
  readonly asksForCertificate?: boolean;
}

/** A real store that is spoken to with TLS: what is in it is passed on to the store itself, which need not have been built with TLS. */
export interface TlsStore {
  /** The store's address, through TLS. */
  readonly url: string;
  /** How many bytes clients have said to the store. */
  readonly said: () => number;
  stop(): Promise<void>;
}

/** What a client of Postgres sends before TLS: the length of the message, and the code that asks for it. */
const sslRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/** Takes TLS, and nothing else, at a port of its own. */
export async function startTls(
  storeUrl: string,
  { certificate = 'server', asksForCertificate = false }: TlsOptions = {},
): Promise<TlsStore> {
  const store = new URL(storeUrl);
  const isPostgres = store.protocol.startsWith('postgres');
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  };
  let said = 0;
  const inner = createTlsServer({
    cert: pem(certificate),
    key: pem(`${certificate}.key`),
    ...(asksForCertificate ? { ca: pem('ca'), requestCert: true, rejectUnauthorized: true } : {}),
  });
  inner.on('tlsClientError', () => undefined);
  inner.on('secureConnection', (client: TLSSocket) => {
    client.on('data', (chunk: Buffer) => {
      said += chunk.length;
    });
    const upstream = keep(connect(Number(store.port), store.hostname));
    pipeline(client, upstream, client, () => undefined);
  });
  const outer = createServer((socket) => {
    keep(socket);
    if (!isPostgres) {
      inner.emit('connection', socket);
      return;
    }
    socket.once('data', (asked) => {
      if (!asked.equals(sslRequest)) {
        socket.destroy();
        return;
      }
      socket.pause();
      socket.write('S', () => inner.emit('connection', socket));
    });
  });
  await once(outer.listen(0, '127.0.0.1'), 'listening');
  const { port } = outer.address() as AddressInfo;
  const { username, password, pathname } = store;
  return {
    url: `${isPostgres ? 'postgres' : 'rediss'}://${username}:${password}@127.0.0.1:${port}${pathname}`,
    said: () => said,
    stop: async () => {
      const closed = once(outer.close(), 'close');
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
