import type { Redis } from 'ioredis';
import { limits } from '../shared/limits.js';

type Send = Redis['sendCommand'];

/** A corked socket, and what was sent to it. */
interface Turn {
  readonly stream: Redis['stream'];
  /** The promise of the last command. */
  last: unknown;
  commands: number;
  isTurnOver: boolean;
}

/**
 * The writes of one connection. The socket is corked at the first command of a turn of the event loop, and uncorked at the end of that turn, or
 * when the first of limits.maxWritesInFlight earlier writes has its replies.
 */
class Turns {
  private readonly redis: Redis;
  private readonly send: Send;
  private corked: Turn | undefined;
  private inFlight = 0;

  constructor(redis: Redis) {
    this.redis = redis;
    this.send = redis.sendCommand.bind(redis);
  }

  readonly sendCommand: Send = (...args) => {
    const turn = this.corked ?? this.cork();
    const sent = this.send(...args);
    if (!turn) return sent;
    turn.last = sent;
    turn.commands += 1;
    if (turn.commands >= limits.maxCommandsInWrite) this.uncork();
    return sent;
  };

  private cork(): Turn | undefined {
    // There is none before the first connection.
    const { stream } = this.redis as { readonly stream?: Redis['stream'] };
    if (!stream) return undefined;
    stream.cork();
    const turn: Turn = { stream, last: undefined, commands: 0, isTurnOver: false };
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
    const replied = (): void => {
      this.inFlight -= 1;
      this.uncorkIfDue();
    };
    Promise.resolve(turn.last).then(replied, replied);
    turn.stream.uncork();
  }
}

/**
 * Sends the commands of one turn of the event loop in one write, without waiting for the replies to earlier ones (at most limits.maxWritesInFlight
 * of them: beyond, larger writes cost both sides less than more of them). ioredis' automatic pipelining sends nothing while a pipeline is in flight,
 * so that Redis is idle while replies are read, and the process is idle while Redis works. The guarantees are those of the connection: a command is
 * never sent again, and fails when the connection breaks.
 */
export function sendByTurns(redis: Redis): void {
  redis.sendCommand = new Turns(redis).sendCommand;
}
