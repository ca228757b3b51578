import { printTo, openLog } from '../output.js';
import type { Roles } from '../service.js';
import { parseSettings } from '../settings.js';
import { onHangUpSignal, stopSignal } from '../signals.js';
import { welcome } from '../commands/welcome.js';
import { Supervisor } from './supervisor.js';

/** A terminal that was closed: as Ctrl-C. */
const hangUp = 'SIGINT';

/**
 * `laurel serve` and `laurel worker`: runs the processes of these roles until a signal. A signal during the start takes effect once everything has
 * started. A second one kills the processes, a third one exits without stopping the built-in stores.
 */
export async function serve(roles: Roles): Promise<void> {
  const settings = parseSettings(process.env);
  const print = printTo(process.stdout);
  const supervisor = new Supervisor({ settings, log: openLog(settings.logLevel, 'supervisor'), print }, roles);
  const hungUp = new Promise<NodeJS.Signals>((resolve) => {
    onHangUpSignal(
      () => void supervisor.reload(),
      () => resolve(hangUp),
    );
  });
  const stopped = stopSignal((count) => {
    if (count > 2) process.exit(1);
    void supervisor.abort().finally(() => process.exit(1));
  });
  const started = await supervisor.start();
  for (const line of welcome(started, settings)) print(line);
  const signal = await Promise.race([stopped, hungUp, supervisor.failure]).catch(async (error: unknown) => {
    await supervisor.stop(0);
    throw error;
  });
  // Ctrl-C needs no grace period: there is no load balancer that has to notice.
  const delayS = signal === 'SIGTERM' && roles.api ? settings.shutdownDelayS : 0;
  const serving = delayS === 0 ? '' : `serving for another ${delayS} s, not ready, then `;
  print(`Stopping: ${serving}finishing requests and draining the ledger.`);
  await supervisor.stop(delayS * 1_000);
  print('Stopped.');
}
