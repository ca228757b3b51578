import type { Logger } from 'pino';

/** Stops what a step started. */
export type Stop = () => void | Promise<void>;

/** The steps that a process has started. They stop in reverse order, so that nothing stops before what depends on it. */
export class Lifecycle {
  private readonly log: Logger;
  private readonly steps: { readonly name: string; readonly stop: Stop }[] = [];

  constructor(log: Logger) {
    this.log = log;
  }

  /** Waits until a step has started, and registers how to stop it. A step that fails to start leaves nothing to stop. */
  async start<T>(name: string, starting: T | Promise<T>, stop: (started: T) => void | Promise<void>): Promise<T> {
    const started = await starting;
    this.onStop(name, () => stop(started));
    return started;
  }

  /** Registers something to stop before every step that started earlier. */
  onStop(name: string, stop: Stop): void {
    this.steps.push({ name, stop });
  }

  /** Stops all steps, the newest first. A step that fails is logged, and the others still stop. */
  async stop(): Promise<void> {
    for (let step = this.steps.pop(); step; step = this.steps.pop()) {
      try {
        await step.stop();
      } catch (error) {
        this.log.error({ err: error, step: step.name }, 'shutdown step failed');
      }
    }
  }
}
