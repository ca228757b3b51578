import { useState } from 'preact/hooks';
import { pageNumber } from '../../scope/address.js';
import { useScope } from '../../scope/scope.js';
import { Badge } from '../../ui/badge.js';
import { ChangeButton } from '../../ui/change-button.js';
import { Empty } from '../../ui/states.js';
import { type Column, Pager, Table } from '../../ui/table.js';
import { useAddress } from '../../scope/use-address.js';
import { shownValue } from '../changes/change-texts.js';
import { useDraft } from '../draft/draft.js';
import { changeOf, type DraftChange } from '../draft/draft-changes.js';
import { labelOf } from '../file/form-fields.js';
import { fieldOf, identityOf, isKeyedList, isList, type Json, type JsonObject, type Keyed, type Path, valueAt } from '../file/json.js';
import { NewObject } from './new-object.js';
import type { PartText } from './parts.js';

interface DraftListProps {
  readonly part: string;
  /** The name of the list: that of the part, or of a list inside an object. */
  readonly list: string;
  /** Of the list in the file. */
  readonly path: Path;
  /** The identities around an object of the list, as changes have them. */
  readonly within: Path;
  readonly text: PartText;
  readonly schema: JsonObject;
  /** The address of the editor of an object. */
  readonly editor: (identity: string) => string;
}

const rowsPerPage = 50;

/** The objects of a list, with what the draft changes, and a way to add one. */
export function DraftList({ part, list, path, within, text, schema, editor }: DraftListProps) {
  const { href } = useScope();
  const { file, changes, schema: fileSchema } = useDraft();
  const address = useAddress();
  const [isAdding, setIsAdding] = useState(false);
  const all = valueAt(file, path);
  const objects = isKeyedList(all) ? all : [];
  const search = address.query['search'] ?? '';
  const found = objects.filter((object) => matches(object, search));
  const page = Math.min(pageNumber(address.query['page']), Math.max(1, Math.ceil(found.length / rowsPerPage)));
  const defaults = new Map(fileSchema.fields(schema, text.fields).map((field) => [field.name, field.default]));
  const hasName = defaults.has('name');
  const columns: Column<Keyed>[] = [
    { title: hasName ? 'Name' : 'Key', cell: (object) => <a href={href(editor(identityOf(list, object)))}>{nameOf(object)}</a> },
    ...(hasName ? [{ title: 'Key', cell: ({ key }: Keyed) => <code>{key}</code> }] : []),
    ...text.columns.map((field): Column<Keyed> => ({
      title: text.fields[field]?.label ?? labelOf(field),
      cell: (object) => <Cell field={field} value={fieldOf(object, field) ?? defaults.get(field)} />,
    })),
    { title: 'Draft', cell: (object) => <DraftBadge change={changeOf(changes, part, [...within, identityOf(list, object)])} /> },
    ...(text.usage ? [{ title: 'Usage', cell: ({ key }: Keyed) => <a href={href(text.usage?.(key) ?? '')}>Show</a> }] : []),
  ];
  return (
    <>
      <div class="list-tools">
        {objects.length > 10 && (
          <input
            type="search"
            aria-label={`Search ${text.title.toLowerCase()}`}
            placeholder="Search by name or key"
            value={search}
            onInput={(event) => address.change({ search: event.currentTarget.value })}
          />
        )}
        <ChangeButton onClick={() => setIsAdding(true)}>Add {text.singular}</ChangeButton>
      </div>
      {objects.length === 0 ? (
        <Empty>No {text.title.toLowerCase()} yet.</Empty>
      ) : (
        <Table
          caption={`All ${text.title.toLowerCase()}`}
          columns={columns}
          rows={found.slice((page - 1) * rowsPerPage, page * rowsPerPage)}
          keyOf={(object) => identityOf(list, object)}
          empty="Nothing matches the search."
        />
      )}
      <Pager
        of={text.title}
        hasPrevious={page > 1}
        hasNext={page * rowsPerPage < found.length}
        onPrevious={() => address.change({ page: page - 1 })}
        onNext={() => address.change({ page: page + 1 })}
        label={`Page ${page}`}
      />
      {isAdding && <NewObject list={list} path={path} text={text} schema={schema} editor={editor} onClose={() => setIsAdding(false)} />}
    </>
  );
}

export function nameOf(object: Keyed): string {
  const { name } = object;
  return typeof name === 'string' && name.trim() !== '' ? name : object.key;
}

function matches(object: Keyed, search: string): boolean {
  const wanted = search.trim().toLowerCase();
  return `${nameOf(object)} ${object.key}`.toLowerCase().includes(wanted);
}

function Cell({ field, value }: { readonly field: string; readonly value: Json | undefined }) {
  if (field === 'status') return <Badge tone={value === 'active' ? 'good' : 'neutral'}>{shownValue(value)}</Badge>;
  // A list of objects is told by how many there are.
  if (isList(value) && value.every((item) => typeof item === 'object')) return <>{value.length}</>;
  return value === undefined || value === null || value === '' ? <span class="none">none</span> : <>{shownValue(value)}</>;
}

const words = { add: 'new', change: 'changed', remove: 'removed' } as const;

export function DraftBadge({ change }: { readonly change: DraftChange['action'] | undefined }) {
  return change === undefined ? null : <Badge tone="warning">{words[change]}</Badge>;
}
