import { expect } from 'chai';
import { type FormField, FileSchema, labelOf } from '../../src/dashboard/page/editor/file/form-fields.js';
import type { JsonObject } from '../../src/dashboard/page/editor/file/json.js';
import { keptFields } from '../../src/dashboard/page/editor/file/schema-parts.js';
import { referenceOptions } from '../../src/dashboard/page/editor/file/references.js';
import { insertionOf, variablesOf } from '../../src/dashboard/page/editor/file/template-names.js';

const schema = new FileSchema({
  type: 'object',
  properties: {
    settings: {
      type: 'object',
      properties: {
        hour: { type: ['integer', 'null'] },
        zone: { anyOf: [{ type: 'string' }, { type: 'null' }] },
        later: { type: 'object' },
      },
    },
    things: { type: 'array', items: { $ref: '#/$defs/thing' } },
  },
  $defs: {
    thing: {
      type: 'object',
      required: ['key', 'kind'],
      properties: {
        key: { type: 'string' },
        kind: { type: 'string', enum: ['metric', 'time'] },
        name: { type: 'string', maxLength: 10 },
        metricKey: { type: 'string', 'x-refers-to': 'metric' },
        day: { type: 'string', format: 'date' },
        isOn: { type: 'boolean', default: false },
        hosts: { type: 'array', items: { type: 'string' } },
        days: { type: 'array', items: { type: 'integer' } },
        events: { type: 'array', items: { type: 'string', enum: ['a', 'b'] } },
        needs: { type: 'array', items: { type: 'string', 'x-refers-to': 'achievement' } },
        filters: {
          type: 'array',
          items: {
            type: 'object',
            required: ['attributeKey'],
            properties: { attributeKey: { type: 'string', 'x-refers-to': 'user attribute' }, attributeValue: { type: 'string' } },
          },
        },
        badge: { type: 'object', properties: { url: { type: 'string' } } },
        mixed: { type: 'array', items: {} },
        parts: { type: 'array', items: { type: 'object', properties: { key: { type: 'string' } } } },
      },
      'x-variants': {
        by: 'kind',
        fields: { metric: { required: ['metricKey'], optional: ['filters'] }, time: { required: ['day'], optional: [] } },
      },
    },
  },
});
const things = schema.items(schema.part('things')!)!;
const byName = (fields: readonly FormField[]): Readonly<Record<string, FormField>> =>
  Object.fromEntries(fields.map((field) => [field.name, field]));

describe('Forms from the schema of a configuration file', () => {
  it('have a control for every field, also for one that the page does not know', () => {
    const { metric, time } = { metric: schema.fields(things, {}, 'metric'), time: schema.fields(things, {}, 'time') };
    const controls = Object.fromEntries([...time, ...metric].map(({ name, control }) => [name, control.kind]));
    expect(controls).to.deep.equal({
      kind: 'choice',
      name: 'text',
      metricKey: 'reference',
      day: 'text',
      isOn: 'boolean',
      hosts: 'words',
      days: 'words',
      events: 'choices',
      needs: 'references',
      filters: 'rows',
      badge: 'map',
      mixed: 'json',
    });
    expect(byName(time)['day']?.control).to.deep.equal({ kind: 'text', format: 'date', maxChars: undefined });
  });

  it('have the fields of one variant, which are required where it needs them', () => {
    const fields = byName(schema.fields(things, {}, 'metric'));
    expect([fields['metricKey']?.isRequired, fields['kind']?.isRequired, fields['name']?.isRequired]).to.deep.equal([true, true, false]);
    expect([fields['day'], byName(schema.fields(things, {}, 'time'))['filters']]).to.deep.equal([undefined, undefined]);
    expect(schema.variantField(things)).to.equal('kind');
    expect(schema.allFields(things)).to.include.members(['metricKey', 'day']).and.not.include.members(['key', 'parts']);
  });

  it('show the fields with words first, in their order', () => {
    const names = schema.fields(things, { isOn: { label: 'On' }, name: { label: 'Name' } }, undefined).map(({ name }) => name);
    expect(names.slice(0, 3)).to.deep.equal(['isOn', 'name', 'kind']);
  });

  it('leave lists of objects with keys to their own editors', () => {
    expect(schema.innerLists(things)).to.deep.equal(['parts']);
  });

  it('tell a field that can be null from one that can be left out', () => {
    const fields = byName(schema.fields(schema.part('settings')!, {}));
    expect([fields['hour']?.isNullable, fields['zone']?.isNullable, fields['zone']?.control.kind]).to.deep.equal([true, true, 'text']);
    expect([fields['hour']?.control.kind, schema.part('unknown')]).to.deep.equal(['number', undefined]);
  });

  it('name an unknown field by its words', () => {
    expect(['blockIfOutOfPoints', 'url', 'x2Factor'].map(labelOf)).to.deep.equal(['Block if out of points', 'Url', 'X2 factor']);
  });
});

const file: JsonObject = {
  attributes: [
    { key: 'city', name: 'City', type: 'user' },
    { key: 'device', name: 'Device', type: 'event' },
  ],
  metrics: [
    { key: 'cards', name: 'Cards' },
    { key: '2-pages', name: '' },
  ],
  leaderboards: Array.from({ length: 9 }, (_, at) => ({ key: `board-${at}`, name: 'Board' })),
};

describe('Fields that the service does not let change', () => {
  const board = { key: 'week', status: 'active', rankBy: 'metric', name: 'Week' };
  const permanent = { 'x-permanent': ['rankBy', 'start'] };
  const keptOf = (applied: JsonObject[], draft: JsonObject, at = 0): string[] =>
    keptFields(
      permanent,
      { file: { boards: [...Array.from({ length: at }, () => ({ key: 'new' })), draft] }, applied: { boards: applied } },
      [...['boards', at]],
    );

  it('are those of an object that is applied and not inactive', () => {
    expect(keptOf([board], board)).to.deep.equal(['rankBy', 'start']);
    expect(keptOf([board], { ...board, status: 'inactive' }, 1)).to.deep.equal(['rankBy', 'start']);
    expect(keptOf([{ ...board, status: 'inactive' }], board)).to.deep.equal([]);
    expect(keptOf([], board)).to.deep.equal([]);
    expect(keptFields({}, { file: { boards: [board] }, applied: { boards: [board] } }, ['boards', 0])).to.deep.equal([]);
  });

  it('can be reset where the draft has another value', () => {
    expect(keptOf([board], { ...board, rankBy: 'points' })).to.deep.equal(['start']);
  });
});

describe('The choices of a reference field', () => {
  it('are the objects of the kind, with names and keys', () => {
    expect(referenceOptions(file, 'metric').map(({ label }) => label)).to.deep.equal(['Cards (cards)', '2-pages']);
    expect(referenceOptions(file, 'event attribute').map(({ value }) => value)).to.deep.equal(['device']);
    expect(referenceOptions(file, 'achievement')).to.deep.equal([]);
    expect(referenceOptions(file, 'something new')).to.deep.equal([]);
  });
});

describe('Variables of templates', () => {
  const names = (type: string): string[] => variablesOf(type, file).map(({ name }) => name);

  it('have the keys of the draft written out, as Liquid reads them', () => {
    expect(names('recap')).to.include.members(['metrics.cards.total', 'metrics["2-pages"].total', 'user.attributes.city', 'user.name']);
    expect(names('recap')).to.include('leaderboards.<key>.rank').and.not.include('leaderboards.board-0.rank');
    expect(names('recap')).to.include('points.<key>.total');
  });

  it('are those of the type', () => {
    expect(names('recap')).to.include('period.name').and.not.include('achievement.name');
    expect(names('achievement_completed')).to.include('achievement.name').and.not.include('period.name');
  });

  it('are inserted as a template shows them', () => {
    const inserted = [
      { name: 'metrics.cards.total', kind: 'number' },
      { name: 'date', kind: 'date' },
      { name: 'user.name', kind: 'text' },
      { name: 'streak.days[].state', kind: 'text' },
    ].map(insertionOf);
    expect(inserted).to.deep.equal([
      '{{ metrics.cards.total | number }}',
      '{{ date | date }}',
      '{{ user.name }}',
      '{% for each in streak.days %}{{ each.state }} {% endfor %}',
    ]);
  });
});
