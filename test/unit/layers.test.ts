import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import ts from 'typescript';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..');

/**
 * The folders of src from the top down, and what each may import besides itself and `shared`. A row names only folders further down, so the
 * order of the rows is the order of the layers and no two folders import each other. Types count as well: a folder that needs another's types
 * depends on its shapes. `*` is every folder further down.
 *
 * To allow a new edge, name it in the row. If it would point upwards, the code is in the wrong folder or the folder in the wrong row.
 */
const layers: readonly (readonly [part: string, mayImport: string])[] = [
  // The command line.
  ['commands', '*'],
  ['demo', 'app local-stores access config redis'],

  // The composition of everything below.
  ['app', '*'],

  // What operators reach with a browser.
  ['dashboard', '*'],

  // What callers reach.
  ['api', 'observe live messages webhooks deliveries engine responses threads plan history ledger access config redis logging'],

  // What watches the others.
  ['observe', 'live messages deliveries restore engine ledger access config redis postgres logging'],

  // Streams of what changes.
  ['live', 'engine responses plan ledger access redis'],

  // What works beside the requests.
  ['jobs', 'messages webhooks deliveries engine responses plan history ledger access config redis postgres logging'],
  ['webhooks', 'messages deliveries engine responses plan ledger config redis postgres logging'],
  ['messages', 'deliveries engine responses threads plan history ledger access config redis postgres logging'],
  ['deliveries', 'plan config postgres logging'],
  ['restore', 'engine plan history ledger config redis postgres logging'],

  // One event, from a valid request to its response.
  ['engine', 'responses threads plan history ledger config redis'],
  ['responses', 'plan history ledger config redis'],
  ['threads', 'plan config'],
  ['plan', 'config redis'],

  // From Redis to Postgres, and what is read there.
  ['history', 'ledger redis postgres logging'],
  ['ledger', 'redis postgres logging'],

  ['access', 'redis postgres logging'],
  ['config', 'postgres'],
  ['logging', 'redis postgres'],
  ['redis', ''],
  ['postgres', ''],
  ['local-stores', ''],
];

/** Every folder may import this one. */
const bottom = ['shared'];

/** The folders of a part that has some, from the top down. A file imports from its own folder and from those further down. */
const foldersOf: Readonly<Record<string, readonly string[]>> = {
  // A notification walks from the bottom up: it is scheduled, rendered and sent.
  messages: ['admin', 'feedback', 'send', 'render', 'schedule', 'addresses', 'rules'],
  config: ['store', 'change', 'check', 'templates', 'file', 'schema'],
};

/** The folders of the dashboard's page from the top down: a file imports only files of its own folder and of folders further down. */
const pageFolders = ['app', 'screens', 'editor/forms', 'editor/draft', 'editor/changes', 'editor/file', 'ui', 'scope', 'api'];

/** What the page shares with the service: code that runs in browsers as well. */
const sharedWithPage = ['config/templates/variables.ts', 'shared/own.ts', 'shared/progress.ts'];

/** The most files of a folder of the page. */
const maxPageFiles = 25;

/** The modules of the function library, from the top down: each requires only modules further down. The files in lua/ itself stand above. */
const luaModules = [
  'partition_commands',
  'levels',
  'reads',
  'deletion',
  'user_commands',
  'worker_commands',
  'command',
  'settle',
  'segments',
  'users',
  'achievements',
  'leaderboards',
  'points',
  'boosts',
  'streaks',
  'streak_rules',
  'plans',
  'filters',
  'devices',
  'used_keys',
  'transaction',
  'metrics',
  'boards',
  'ledger',
  'time',
  'calendar',
  'batch_order',
  'partition',
  'decimal',
  'cache',
  'contract',
];

/** One import or `require`: from a file to another, or from a part to another. */
interface Edge {
  readonly from: string;
  readonly to: string;
}

const show = (edges: readonly Edge[]): string[] => edges.map(({ from, to }) => `${from} → ${to}`);

const order = [...layers.map(([part]) => part), ...bottom];
const below = (part: string): string[] => order.slice(order.indexOf(part) + 1);
const named = (mayImport: string): string[] => mayImport.split(' ').filter((part) => part !== '' && part !== '*');

const allowed = new Map<string, readonly string[]>([
  ...layers.map(([part, mayImport]) => [part, mayImport === '*' ? below(part) : [...named(mayImport), ...bottom]] as const),
  ...bottom.map((part) => [part, below(part)] as const),
]);

/** Paths below `folder` that end in `extension`, relative to it, with forward slashes. */
function filesOf(folder: string, extension: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith(extension))
    .map((path) => path.split(sep).join('/'))
    .sort();
}

/** `import`, `import type`, `export … from` and `import()` of a file of src. A relative specifier ends in .js and names a .ts file. */
function importsOf(file: string): Edge[] {
  const { importedFiles } = ts.preProcessFile(readFileSync(join(root, 'src', file), 'utf8'), true, true);
  return importedFiles
    .map(({ fileName }) => fileName)
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => join(dirname(file), specifier).split(sep).join('/').replace(/\.js$/, '.ts'))
    .map((to) => ({ from: file, to: existsSync(join(root, 'src', `${to}x`)) ? `${to}x` : to }));
}

/** The page of the dashboard runs in browsers: its own compilation holds it to what they have. */
const page = 'dashboard/page/';
const sources = filesOf('src', '.ts').filter((file) => !file.startsWith(page));
const imports = sources.flatMap(importsOf);
const partOf = (file: string): string => file.split('/', 1)[0] ?? file;

/** The files of one cycle, in order, with the first again at the end; undefined if there is none. */
function findCycle(edges: readonly Edge[]): string[] | undefined {
  const next = new Map<string, string[]>();
  for (const { from, to } of edges) next.set(from, [...(next.get(from) ?? []), to]);
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): string[] | undefined => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return undefined;
    done.add(file);
    return firstDefined(next.get(file) ?? [], (to) => visit(to, [...path, file]));
  };
  return firstDefined([...next.keys()], (file) => visit(file, []));
}

function firstDefined<T, R>(items: readonly T[], map: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const result = map(item);
    if (result !== undefined) return result;
  }
  return undefined;
}

describe('The layers of src', () => {
  it('are listed in the table once', () => {
    expect(order).to.deep.equal([...new Set(order)]);
    expect(sources).to.not.be.empty;
    expect(sources.filter((file) => !order.includes(partOf(file)))).to.deep.equal([]);
  });

  it('are ordered: no row names a layer above it', () => {
    const edges = layers.flatMap(([from, mayImport]) => named(mayImport).map((to) => ({ from, to })));
    expect(show(edges.filter(({ from, to }) => !below(from).includes(to)))).to.deep.equal([]);
  });

  it('import only what the table allows', () => {
    const forbidden = imports.filter(({ from, to }) => partOf(from) !== partOf(to) && !allowed.get(partOf(from))?.includes(partOf(to)));
    expect(show(forbidden)).to.deep.equal([]);
  });

  for (const [part, folders] of Object.entries(foldersOf)) {
    const folderOf = (file: string): string => file.split('/')[1] ?? file;
    const inside = (file: string): boolean => partOf(file) === part;

    it(`have the folders of ${part} in the list, with everything in them`, () => {
      expect([...new Set(sources.filter(inside).map(folderOf))].sort()).to.deep.equal([...folders].sort());
    });

    it(`import only downwards within ${part}`, () => {
      const within = imports.filter(({ from, to }) => inside(from) && inside(to));
      expect(show(within.filter(({ from, to }) => folders.indexOf(folderOf(to)) < folders.indexOf(folderOf(from))))).to.deep.equal([]);
    });
  }

  it('import nothing outside src but packages', () => {
    expect(show(imports.filter(({ to }) => !sources.includes(to)))).to.deep.equal([]);
  });

  it('have no cycle of imports between files', () => {
    expect(findCycle(imports)?.join(' → ')).to.equal(undefined);
  });

  it('would show a cycle that is not at the start of its path', () => {
    const edges = [
      { from: 'a.ts', to: 'd.ts' },
      { from: 'a.ts', to: 'b.ts' },
      { from: 'b.ts', to: 'c.ts' },
      { from: 'c.ts', to: 'b.ts' },
    ];
    expect(findCycle(edges)).to.deep.equal(['b.ts', 'c.ts', 'b.ts']);
  });
});

describe("The dashboard's page", () => {
  const files = [...filesOf(`src/${page}`, '.ts'), ...filesOf(`src/${page}`, '.tsx')].filter((file) => !file.startsWith('api/schema/'));
  const edges = files.flatMap((file) => importsOf(page + file)).filter(({ to }) => !to.endsWith('.css'));
  const within = edges
    .filter(({ to }) => to.startsWith(page))
    .map(({ from, to }): Edge => ({ from: from.slice(page.length), to: to.slice(page.length) }));
  /** Its place in the order; that of main.tsx is above all folders. */
  const levelOf = (file: string): number => pageFolders.findIndex((folder) => file.startsWith(`${folder}/`));
  const screenOf = (file: string): string | undefined => /^screens\/([^/]+)\//.exec(file)?.[1];

  it('has only folders that are in the list', () => {
    expect(files).to.not.be.empty;
    expect(files.filter((file) => file.includes('/') && levelOf(file) < 0)).to.deep.equal([]);
  });

  it('imports only from folders further down', () => {
    expect(show(within.filter(({ from, to }) => levelOf(to) < levelOf(from)))).to.deep.equal([]);
  });

  it('has screens that import nothing from other screens but what they have in common', () => {
    const others = within.filter(
      ({ from, to }) => screenOf(from) !== undefined && screenOf(to) !== undefined && ![screenOf(from), 'common'].includes(screenOf(to)),
    );
    expect(show(others)).to.deep.equal([]);
  });

  it('imports nothing of the service but what runs in browsers', () => {
    const outside = edges.filter(({ to }) => !to.startsWith(page));
    expect(show(outside.filter(({ to }) => !sharedWithPage.includes(to)))).to.deep.equal([]);
  });

  it('has no cycle of imports between files', () => {
    expect(findCycle(within)?.join(' → ')).to.equal(undefined);
  });

  it(`has at most ${maxPageFiles} files in a folder`, () => {
    const folders = [...new Set(files.map(dirname))];
    expect(folders.filter((folder) => files.filter((file) => dirname(file) === folder).length > maxPageFiles)).to.deep.equal([]);
  });
});

describe('The modules of lua', () => {
  const files = filesOf('lua', '.lua');
  const moduleOf = (file: string): string => file.replace(/^modules\//, '').replace(/\.lua$/, '');

  it('are in the list', () => {
    const modules = files.filter((file) => file.startsWith('modules/')).map(moduleOf);
    expect(modules.filter((name) => !luaModules.includes(name))).to.deep.equal([]);
  });

  it('require only modules further down', () => {
    const requires = files.flatMap((file) =>
      Array.from(readFileSync(join(root, 'lua', file), 'utf8').matchAll(/\brequire\s*\(?\s*['"]([^'"]+)['"]/g), ([, to = '']) => ({
        from: moduleOf(file),
        to,
      })),
    );
    // A file of lua/ itself is in no list: its index is -1, above all modules.
    const upwards = requires.filter(({ from, to }) => luaModules.indexOf(to) <= luaModules.indexOf(from));
    expect(show(upwards)).to.deep.equal([]);
  });
});
