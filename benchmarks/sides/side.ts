/** One side of a paired benchmark, in a process of its own: runs the code of the checkout whose root it is given, as its parent asks. */
import { loadCheckout } from './checkout.js';
import { SideWork, type Reply, type Request } from './side-work.js';

const [root = '.'] = process.argv.slice(2);
const work = new SideWork(await loadCheckout(root));

function perform({ name, options }: Request): Promise<unknown> {
  const method = work[name].bind(work) as (options: unknown) => Promise<unknown>;
  return method(options);
}

process.on('message', (request: Request) => {
  const reply = (answer: Reply): void => void process.send?.(answer);
  perform(request).then(
    (result) => reply({ result }),
    (error: unknown) => reply({ problem: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
  );
});
// Its parent is gone.
process.on('disconnect', () => process.exit());
console.log('ready');
