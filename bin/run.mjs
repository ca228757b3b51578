/**
 * The common part of `npm start` and the `laurel` command: checks the version of Node, makes the clone ready, and runs Laurel in this process, so
 * that signals reach it directly. It imports nothing before the check, because an import might fail in an old Node.
 */
const oldestNode = 20;

/** @param argv the arguments of the `laurel` command, without Node and the script. */
export async function run(argv) {
  if (Number.parseInt(process.versions.node, 10) < oldestNode) {
    console.error(
      `Laurel needs Node.js ${oldestNode} or newer, and this is ${process.versions.node}. Install a newer one from https://nodejs.org.`,
    );
    process.exitCode = 1;
    return;
  }
  try {
    const { default: cluster } = await import('node:cluster');
    const { ensureBuilt, root } = await import('./prepare.mjs');
    // A process of a running service must not rebuild what the others run.
    if (cluster.isPrimary) ensureBuilt(root);
    const { main } = await import(new URL('../dist/commands/main.js', import.meta.url).href);
    await main(argv);
  } catch (error) {
    console.error(error.name === 'OperatorError' ? error.message : error);
    process.exitCode = 1;
  }
}
