import { Command } from 'ioredis';

/** The bytes of a value, one character each. */
function bytesOf(value: string | Buffer): string {
  // A text of ASCII has as many bytes as characters.
  if (typeof value === 'string') return Buffer.byteLength(value) === value.length ? value : Buffer.from(value).toString('latin1');
  return value.toString('latin1');
}

const bulk = (bytes: string): string => `$${bytes.length}\r\n${bytes}\r\n`;

/**
 * `FCALL name 1 key …arguments`, with texts of the reply as buffers. It is encoded as one string of bytes and copied once: ioredis copies every part
 * of a command that has a buffer among its arguments by itself, which costs an event more than its validation.
 */
export class FunctionCommand extends Command {
  /** Of a call whose reply waits for replicas: the key of the write before the wait (redis/turns.ts). */
  readonly fence: string | undefined;
  /** Settles when the replicas have what the call wrote, or too few of them had it in time. */
  kept: Promise<void> | undefined;

  constructor(name: string, key: string, args: readonly (string | number | Buffer)[], fence?: string) {
    super('fcall', [], { replyEncoding: null });
    // Not as a parameter: ioredis would flatten them, which takes longer than all of this.
    this.args = [name, 1, key, ...args];
    this.stringifyArguments();
    this.fence = fence;
    if (fence !== undefined) this.holdReply();
  }

  private holdReply(): void {
    const { resolve } = this;
    this.resolve = (reply: unknown) => {
      // The connection was replaced within a turn, and has replied before the turn's end.
      const kept: Promise<void> = this.kept ?? Promise.reject(new Error('The connection was replaced before it waited for replicas'));
      kept.then(
        () => {
          resolve(reply);
        },
        // Not the method of now: a cluster replaces it when it sends the command.
        (error: unknown) => {
          this.reject(error as Error);
        },
      );
    };
  }

  override toWritable(): Buffer {
    let bytes = `*${this.args.length + 1}\r\n$5\r\nfcall\r\n`;
    for (const argument of this.args as readonly (string | Buffer)[]) bytes += bulk(bytesOf(argument));
    return Buffer.from(bytes, 'latin1');
  }
}
