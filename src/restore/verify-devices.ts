import { keyNames } from '../redis/contract.js';
import { limits } from '../shared/limits.js';
import { confirm, differencesOf, type Difference, type Facts, type VerifyOptions } from './differences.js';
import { type OwnedDevice, readDevices, readDevicesOf, readSharedDevices } from './stored-devices.js';

const factsOf = (devices: readonly OwnedDevice[]): Facts => new Map(devices.map(({ device, user }) => [`owner of device ${device}`, user]));

/** Compares the devices that users list in Postgres, page by page, with their owners in Redis. */
async function compareListed(options: VerifyOptions): Promise<Difference[]> {
  const { redis, partition, waitForLedger } = options;
  await waitForLedger();
  const shared = new Map((await readSharedDevices(options)).map(({ device, user }) => [device, user]));
  const found: Difference[] = [];
  for (let page = await readDevices(options, ''); page.length > 0; page = await readDevices(options, page.at(-1)?.user ?? '')) {
    const owners = await redis.hmget(partition + keyNames.devices, ...page.map(({ device }) => device));
    const held = page.flatMap(({ device }, i) => (owners[i] ? [{ device, user: owners[i] }] : []));
    const stored = page.map(({ device, user }) => ({ device, user: shared.get(device) ?? user }));
    found.push(...differencesOf(factsOf(held), factsOf(stored)));
    await waitForLedger();
  }
  return found;
}

/** Finds the devices in Redis, page by page, that their owners do not list in Postgres. */
async function findUnlisted(options: VerifyOptions): Promise<Difference[]> {
  const { redis, partition, waitForLedger } = options;
  const found: Difference[] = [];
  let cursor = '0';
  do {
    const [next, page] = await redis.hscan(partition + keyNames.devices, cursor, 'COUNT', limits.verifyPlaces);
    const held = page.flatMap((device, i) => (i % 2 === 0 ? [{ device, user: page[i + 1] ?? '' }] : []));
    await waitForLedger();
    const listed = await readDevicesOf(
      options,
      held.map(({ user }) => user),
    );
    const names = new Set(listed.map(({ device, user }) => JSON.stringify([device, user])));
    const unlisted = held.filter(({ device, user }) => !names.has(JSON.stringify([device, user])));
    found.push(...differencesOf(factsOf(unlisted), new Map()));
    cursor = next;
  } while (cursor !== '0');
  return found;
}

async function compareDevices(options: VerifyOptions): Promise<Difference[]> {
  const differences = [...(await findUnlisted(options)), ...(await compareListed(options))];
  // Both find a device of which another user is the owner; only the second knows who that is in Postgres.
  return [...new Map(differences.map((difference) => [difference.what, difference])).values()];
}

/** Compares the owners of devices. */
export const deviceDifferences = async (options: VerifyOptions): Promise<Difference[]> =>
  confirm(await compareDevices(options), () => compareDevices(options));
