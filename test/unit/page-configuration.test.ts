import { expect } from 'chai';
import { changeOf, draftChanges } from '../../src/dashboard/page/editor/draft/draft-changes.js';
import { type DraftStorage, forgetDrafts, hasDrafts, loadDraft, saveDraft } from '../../src/dashboard/page/editor/draft/draft-storage.js';
import { isSame, type Json, type JsonObject, valueAt, withValueAt } from '../../src/dashboard/page/editor/file/json.js';
import { keyProblem, suggestKey } from '../../src/dashboard/page/editor/file/keys.js';
import { mergeFiles } from '../../src/dashboard/page/editor/file/merge.js';
import { finishedNumber, typedNumber, typedWords } from '../../src/dashboard/page/editor/file/numbers.js';
import { editorOf, problemAt, problemsAfter } from '../../src/dashboard/page/editor/file/problems.js';
import { editorOfChange, shownValue } from '../../src/dashboard/page/editor/changes/change-texts.js';
import { offsetOf } from '../../src/dashboard/page/editor/file/text-position.js';

const file: JsonObject = {
  settings: { emailHour: 9 },
  attributes: [
    { key: 'city', name: 'City', type: 'user' },
    { key: 'city', name: 'City', type: 'event' },
  ],
  metrics: [{ key: 'cards', name: 'Cards' }],
  points: [
    {
      key: 'xp',
      name: 'XP',
      levels: [
        { key: 'low', name: 'Low', points: 0 },
        { key: 'high', name: 'High', points: 100 },
      ],
      triggers: [{ key: 'daily', type: 'time', timeUnit: 'days', timeInterval: 1, points: 5 }],
    },
  ],
};
const edit = (path: (string | number)[], value: Json | undefined, of: JsonObject = file): JsonObject =>
  withValueAt(of, path, value) as JsonObject;

describe('The draft of a configuration', () => {
  it('changes a value at a path without changing the original', () => {
    const before = JSON.stringify(file);
    expect(valueAt(edit(['points', 0, 'levels', 1, 'points'], 200), ['points', 0, 'levels', 1, 'points'])).to.equal(200);
    expect(valueAt(edit(['points', 0, 'levels', 0], undefined), ['points', 0, 'levels'])).to.have.length(1);
    expect(valueAt(edit(['metrics', 1], { key: 'new' }), ['metrics', 1, 'key'])).to.equal('new');
    expect(edit(['settings', 'emailHour'], undefined)['settings']).to.deep.equal({});
    expect(edit(['messages', 'brandName'], 'A')['messages']).to.deep.equal({ brandName: 'A' });
    expect(JSON.stringify(file)).to.equal(before);
  });

  it('never reads what an object inherits', () => {
    expect(valueAt(file, ['constructor'])).to.equal(undefined);
    expect(isSame({ a: 1 }, { toString: 1 })).to.equal(false);
  });

  const counted: readonly (readonly [what: string, draft: JsonObject, changes: readonly string[]])[] = [
    ['no change', file, []],
    ['another order of fields', { ...file, settings: { ...(file['settings'] as JsonObject) } }, []],
    ['a setting', edit(['settings', 'emailHour'], 8), ['change settings ']],
    ['a metric that is added', edit(['metrics', 1], { key: 'pages', name: 'Pages' }), ['add metrics pages']],
    ['a metric that is removed', edit(['metrics', 0], undefined), ['remove metrics cards']],
    ['one of two attributes with a key', edit(['attributes', 1, 'name'], 'Town'), ['change attributes event:city']],
    ['a level', edit(['points', 0, 'levels', 1, 'points'], 200), ['change points xp.levels.high']],
    ['the last trigger', edit(['points', 0, 'triggers', 0], undefined), ['remove points xp.triggers.daily']],
    ['a system', edit(['points', 0, 'name'], 'X'), ['change points xp']],
    [
      'a system with a level',
      edit(['points', 1], { key: 'coins', name: 'Coins', levels: [{ key: 'one', name: 'One', points: 1 }] }),
      ['add points coins', 'add points coins.levels.one'],
    ],
    ['a list that is empty in place of none', edit(['points', 0, 'boosts'], []), []],
  ];
  for (const [what, draft, changes] of counted) {
    it(`counts ${what}`, () => {
      const found = draftChanges(file, draft).map(({ action, part, within }) => `${action} ${part} ${within.join('.')}`);
      expect(found).to.deep.equal(changes);
    });
  }

  it('marks an object whose own fields, or those of an object inside it, differ', () => {
    const changes = draftChanges(file, edit(['points', 0, 'levels', 1, 'points'], 200));
    expect([
      changeOf(changes, 'points', ['xp']),
      changeOf(changes, 'points', ['xp', 'levels', 'low']),
      changeOf(changes, 'metrics', []),
    ]).to.deep.equal(['change', undefined, undefined]);
  });

  it('is kept for each tenant, survives a broken entry, and says when the browser refuses it', () => {
    const entries = new Map<string, string>();
    const storage: DraftStorage = {
      get length() {
        return entries.size;
      },
      key: (no) => [...entries.keys()][no] ?? null,
      getItem: (name) => entries.get(name) ?? null,
      setItem: (name, text) => void entries.set(name, text),
      removeItem: (name) => void entries.delete(name),
    };
    const owner = { key: 'k', tenant: 'a' };
    const others = [
      { key: 'k', tenant: 'b' },
      { key: 'other', tenant: 'a' },
    ];
    expect(saveDraft(storage, owner, { version: 3, file })).to.equal(true);
    expect([owner, ...others].map((each) => loadDraft(storage, each))).to.deep.equal([{ version: 3, file }, undefined, undefined]);
    saveDraft(storage, owner, undefined);
    expect([entries.size, hasDrafts(storage)]).to.deep.equal([0, false]);
    for (const each of [owner, ...others]) saveDraft(storage, each, { version: 3, file });
    entries.set('of something else', '1');
    forgetDrafts(storage, 'k');
    expect([owner, ...others].map((each) => loadDraft(storage, each) !== undefined)).to.deep.equal([true, true, false]);
    forgetDrafts(storage);
    expect([[...entries.keys()], hasDrafts(storage)]).to.deep.equal([['of something else'], false]);
    for (const text of ['{', '[]', '{"version":"3","file":{}}', 'null']) {
      entries.set('laurel-draft:k:a', text);
      expect(loadDraft(storage, owner)).to.equal(undefined);
    }
    const full: DraftStorage = {
      ...storage,
      setItem: () => {
        throw new Error('QuotaExceededError');
      },
    };
    expect(saveDraft(full, owner, { version: 3, file })).to.equal(false);
  });
});

describe('A draft on top of a newer configuration', () => {
  const merge = (mine: JsonObject, theirs: JsonObject) => mergeFiles({ base: file, mine, theirs });

  it('has the changes of both', () => {
    const mine = edit(['points', 0, 'levels', 1, 'points'], 200, edit(['metrics', 1], { key: 'mine', name: 'Mine' }));
    const theirs = edit(['points', 0, 'levels', 0, 'name'], 'Lowest', edit(['metrics', 1], { key: 'theirs', name: 'Theirs' }));
    const merged = merge(mine, theirs);
    expect(merged.conflicts).to.deep.equal([]);
    expect(valueAt(merged.file, ['points', 0, 'levels'])).to.deep.equal([
      { key: 'low', name: 'Lowest', points: 0 },
      { key: 'high', name: 'High', points: 200 },
    ]);
    expect((valueAt(merged.file, ['metrics']) as JsonObject[]).map(({ key }) => key)).to.deep.equal(['cards', 'theirs', 'mine']);
  });

  it('keeps the value of the draft where both changed it, and says where', () => {
    const { file: merged, conflicts } = merge(edit(['settings', 'emailHour'], 8), edit(['settings', 'emailHour'], 7));
    expect([valueAt(merged, ['settings', 'emailHour']), conflicts]).to.deep.equal([8, [['settings', 'emailHour']]]);
  });

  it('leaves out what one of them removed and the other did not change', () => {
    const merged = merge(edit(['metrics', 0], undefined), edit(['attributes', 0], undefined)).file;
    expect([valueAt(merged, ['metrics']), (valueAt(merged, ['attributes']) as Json[]).length]).to.deep.equal([[], 1]);
  });

  it('keeps an object that the draft changed and the other removed', () => {
    const { file: merged, conflicts } = merge(edit(['metrics', 0, 'name'], 'Mine'), edit(['metrics', 0], undefined));
    expect([valueAt(merged, ['metrics', 0, 'name']), conflicts]).to.deep.equal(['Mine', [['metrics', 'cards']]]);
  });

  it('is the newer configuration where the draft changed nothing', () => {
    const theirs = edit(['settings', 'emailHour'], 7);
    expect(merge(file, theirs).file).to.deep.equal(theirs);
  });
});

describe('Problems of a draft', () => {
  const problem = (path: (string | number)[] | null) => ({ message: `at ${JSON.stringify(path)}`, path, line: null, column: null });

  const editors: readonly (readonly [path: (string | number)[], editor: string | undefined])[] = [
    [['settings', 'emailHour'], '/configuration/settings'],
    [['metrics', 0, 'name'], '/configuration/metrics/cards'],
    [['attributes', 1], '/configuration/attributes/event%3Acity'],
    [['points', 0, 'maxPoints'], '/configuration/points/xp'],
    [['points', 0, 'levels', 1, 'points'], '/configuration/points/xp'],
    [['points', 0, 'triggers', 0, 'points'], '/configuration/points/xp/triggers/daily'],
    [['metrics', 7, 'name'], '/configuration/metrics'],
    [[], undefined],
  ];
  for (const [path, editor] of editors) {
    it(`lead from ${JSON.stringify(path)} to ${String(editor)}`, () => {
      expect(editorOf(file, path)).to.equal(editor);
    });
  }

  it('are shown at their value, and within it where that is asked for', () => {
    const problems = [problem(['points', 0, 'levels', 1, 'points']), problem(['points', 0]), problem(null)];
    expect(problemAt(problems, ['points', 0])).to.equal('at ["points",0]');
    expect(problemAt(problems, ['points', 0], true))
      .to.include('levels')
      .and.include('at ["points",0]');
    expect(problemAt(problems, ['points'])).to.equal(undefined);
  });

  it('go once their value is changed, and with a list whose indexes have moved', () => {
    const level = problem(['points', 0, 'levels', 1, 'points']);
    const metric = problem(['metrics', 0, 'name']);
    expect(problemsAfter([level, metric], ['points', 0, 'levels', 1, 'points'])).to.deep.equal([metric]);
    expect(problemsAfter([level, metric], ['points', 0, 'levels', 0])).to.deep.equal([metric]);
    expect(problemsAfter([level, metric], ['points', 0, 'name'])).to.deep.equal([level, metric]);
  });
});

describe('Fields of a form', () => {
  const typed: readonly (readonly [text: string, value: Json | undefined, finished: Json | undefined])[] = [
    ['', undefined, undefined],
    ['12', 12, 12],
    ['-3', -3, -3],
    ['-', '-', '-'],
    ['1.', '1.', 1],
    ['1.5', 1.5, 1.5],
    ['1.50', '1.50', 1.5],
    ['007', '007', 7],
    ['1,000', '1,000', '1,000'],
    ['1e3', '1e3', 1_000],
    ['Infinity', 'Infinity', 'Infinity'],
    [' ', undefined, undefined],
  ];
  for (const [text, value, finished] of typed) {
    it(`hold ${JSON.stringify(value)} for the typed number ${JSON.stringify(text)}, and ${JSON.stringify(finished)} when it is left`, () => {
      expect([typedNumber(text), finishedNumber(typedNumber(text))]).to.deep.equal([value, finished]);
    });
  }

  it('hold the words of a list, and its numbers as numbers', () => {
    expect(typedWords(' a.example, b.example ', false)).to.deep.equal(['a.example', 'b.example']);
    expect(typedWords('3, 7,x', true)).to.deep.equal([3, 7, 'x']);
  });

  const keys: readonly (readonly [name: string, taken: readonly string[], key: string])[] = [
    ['Flashcards viewed', [], 'flashcards-viewed'],
    ['  Été: 100 %! ', [], 'ete-100'],
    ['Cards', ['cards'], 'cards-2'],
    ['Cards', ['cards', 'cards-2'], 'cards-3'],
    ['漢字', [], ''],
    ['x'.repeat(300), [], 'x'.repeat(255)],
  ];
  for (const [name, taken, key] of keys) {
    it(`suggest the key ${key.slice(0, 20)} for ${name.slice(0, 20)} with ${taken.length} taken`, () => {
      expect(suggestKey(name, taken)).to.equal(key);
      if (key !== '') expect(keyProblem(key)).to.equal(undefined);
    });
  }

  it('refuse keys that the service refuses', () => {
    for (const key of ['', 'a b', 'é', 'a/b', 'x'.repeat(256)]) expect(keyProblem(key), key).to.be.a('string');
  });
});

describe('What the page says of changes', () => {
  const editors: readonly (readonly [change: Parameters<typeof editorOfChange>[0], editor: string | undefined])[] = [
    [{ kind: 'settings' }, '/configuration/settings'],
    [{ kind: 'metric', key: 'cards', within: null }, '/configuration/metrics/cards'],
    [{ kind: 'user attribute', key: 'city', within: null }, '/configuration/attributes/user%3Acity'],
    [{ kind: 'template', key: 'en', within: null }, '/templates/en'],
    [{ kind: 'level', key: 'low', within: 'xp' }, '/configuration/points/xp'],
    [{ kind: 'boost', key: 'week', within: 'xp' }, '/configuration/points/xp/boosts/week'],
    [{ kind: 'something new', key: 'x', within: null }, undefined],
  ];
  for (const [change, editor] of editors) {
    it(`leads from ${change.kind} to ${String(editor)}`, () => {
      expect(editorOfChange(change)).to.equal(editor);
    });
  }

  it('shows values as an operator reads them', () => {
    expect([null, undefined, '', [], ['a', 'b'], 12_345.5, true, 'x'].map(shownValue)).to.deep.equal([
      ...['none', 'none', 'none', 'none', 'a, b', '12,345.5', 'true', 'x'],
    ]);
  });

  it('finds the line and the column of a problem in a text', () => {
    const text = 'ab\ncde\n';
    expect([offsetOf(text, 1, 1), offsetOf(text, 2, 2), offsetOf(text, 2, 99), offsetOf(text, 9, 1)]).to.deep.equal([0, 4, 6, 7]);
  });
});
