import { Command, type Redis } from 'ioredis';
import { limits } from '../shared/limits.js';
import { redisProblems, StoreError } from '../shared/store-problems.js';
import { redisFailure } from './failure.js';
import { FunctionCommand } from './function-command.js';

type Send = Redis['sendCommand'];

/** What calls wait for that have to be kept (DURABILITY=replicated). */
export interface Replication {
  readonly replicas: number;
  readonly timeoutMs: number;
  /** Whether the server and the replicas have to have it on disk. */
  readonly toDisk: boolean;
}

/** A corked socket, and what was sent to it. */
interface Turn {
  readonly stream: Redis['stream'];
  /** The promise of the last command. */
  last: unknown;
  commands: number;
  isTurnOver: boolean;
  /** The calls whose replies wait for replicas. */
  readonly kept: FunctionCommand[];
}

/**
 * Waits until replicas have all that a server has written by now. WAIT alone would cover only what this connection has written, and not an event that
 * another one has counted and that is repeated here, so a write of its own comes first.
 */
async function waitForReplicas(send: Send, fence: string, { replicas, timeoutMs, toDisk }: Replication): Promise<void> {
  const wait = toDisk ? new Command('waitaof', [1, replicas, timeoutMs]) : new Command('wait', [replicas, timeoutMs]);
  const sent = [send(new Command('set', [fence, '', 'EX', limits.replicaFenceTtlS])), send(wait)];
  const [, reply] = await Promise.all(sent).catch((error: unknown) => {
    // Not as it is: the calls were executed, and a redirection would send them again.
    throw redisFailure(error);
  });
  const [local, confirmed] = (toDisk ? reply : [1, reply]) as [local: number, confirmed: number];
  if (local === 1 && confirmed >= replicas) return;
  throw new StoreError(redisProblems.notReplicated, `${confirmed} of ${replicas} within ${timeoutMs} ms`);
}

/**
 * The writes of one connection. The socket is corked at the first command of a turn of the event loop, and uncorked at the end of that turn, or
 * when the first of limits.maxWritesInFlight earlier writes has its replies.
 */
class Turns {
  private readonly redis: Redis;
  private readonly replication: Replication | undefined;
  private readonly send: Send;
  private corked: Turn | undefined;
  private inFlight = 0;

  constructor(redis: Redis, replication: Replication | undefined) {
    this.redis = redis;
    this.replication = replication;
    this.send = redis.sendCommand.bind(redis);
  }

  readonly sendCommand: Send = (...args) => {
    const turn = this.corked ?? this.cork();
    const sent = this.send(...args);
    if (!turn) return sent;
    turn.last = sent;
    turn.commands += 1;
    if (this.replication && args[0] instanceof FunctionCommand && args[0].fence !== undefined) {
      // After a redirection, that of another server.
      args[0].kept = undefined;
      turn.kept.push(args[0]);
    }
    if (turn.commands >= limits.maxCommandsInWrite) this.uncork();
    return sent;
  };

  private cork(): Turn | undefined {
    // There is none before the first connection.
    const { stream } = this.redis as { readonly stream?: Redis['stream'] };
    if (!stream) return undefined;
    stream.cork();
    const turn: Turn = { stream, last: undefined, commands: 0, isTurnOver: false, kept: [] };
    this.corked = turn;
    setImmediate(() => {
      turn.isTurnOver = true;
      this.uncorkIfDue();
    });
    return turn;
  }

  private uncorkIfDue(): void {
    if (this.corked?.isTurnOver && this.inFlight < limits.maxWritesInFlight) this.uncork();
  }

  private uncork(): void {
    const turn = this.corked;
    if (!turn) return;
    this.corked = undefined;
    this.inFlight += 1;
    this.keep(turn);
    const replied = (): void => {
      this.inFlight -= 1;
      this.uncorkIfDue();
    };
    Promise.resolve(turn.last).then(replied, replied);
    turn.stream.uncork();
  }

  /** Sends one wait for replicas behind the calls of a turn, for all of them. */
  private keep(turn: Turn): void {
    const [first] = turn.kept;
    if (!this.replication || first?.fence === undefined) return;
    const kept = waitForReplicas(this.send, first.fence, this.replication);
    for (const call of turn.kept) call.kept = kept;
    turn.last = kept;
  }
}

/**
 * Sends the commands of one turn of the event loop in one write, without waiting for the replies to earlier ones (at most limits.maxWritesInFlight
 * of them: beyond, larger writes cost both sides less than more of them). ioredis' automatic pipelining sends nothing while a pipeline is in flight,
 * so that Redis is idle while replies are read, and the process is idle while Redis works. The guarantees are those of the connection: a command is
 * never sent again, and fails when the connection breaks. With `replication`, the replies to calls that have a fence wait for replicas.
 */
export function sendByTurns(redis: Redis, replication?: Replication): void {
  redis.sendCommand = new Turns(redis, replication).sendCommand;
}
