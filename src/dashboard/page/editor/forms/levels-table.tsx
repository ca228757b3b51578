import { useState } from 'preact/hooks';
import { ChangeButton } from '../../ui/change-button.js';
import { Empty } from '../../ui/states.js';
import { FieldControl } from './controls.js';
import { useDraft } from '../draft/draft.js';
import { Changeable } from './form.js';
import { isKeyedList, type JsonObject, type Keyed, type Path, valueAt } from '../file/json.js';
import { NewObject } from './new-object.js';
import { innerPartText } from './parts.js';
import { problemAt } from '../file/problems.js';

interface LevelsTableProps {
  /** Of the list in the file. */
  readonly path: Path;
  readonly schema: JsonObject;
  readonly onRemove: (path: Path, level: Keyed) => void;
}

const pointsOf = (level: Keyed): number => (typeof level['points'] === 'number' ? level['points'] : Infinity);

/** The levels of a system as a table whose cells are edited in place, from the lowest to the highest. */
export function LevelsTable({ path, schema, onRemove }: LevelsTableProps) {
  const { file, schema: fileSchema } = useDraft();
  const [isAdding, setIsAdding] = useState(false);
  // Rows keep their places while points are typed, and move when the screen opens or a level is added.
  const [order, setOrder] = useState<readonly string[]>();
  const text = innerPartText('levels');
  const list = valueAt(file, path);
  const levels = isKeyedList(list) ? list : [];
  const place = (level: Keyed): number => order?.indexOf(level.key) ?? -1;
  const sorted = levels
    .map((level, at) => ({ level, at }))
    .toSorted((a, b) => (order ? place(a.level) - place(b.level) : pointsOf(a.level) - pointsOf(b.level)));
  const fields = fileSchema.fields(schema, text.fields);
  return (
    <>
      {levels.length === 0 ? (
        <Empty>No levels yet.</Empty>
      ) : (
        <Changeable>
          <div class="table-scroll" tabIndex={0} role="group" aria-label="All levels">
            <table
              role="table"
              class="editable cards"
              onFocusIn={() => setOrder(sorted.map(({ level }) => level.key))}
              onFocusOut={() => setOrder(undefined)}
            >
              <caption class="visually-hidden">Levels, from the lowest to the highest</caption>
              <thead role="rowgroup">
                <tr role="row">
                  <th role="columnheader" scope="col">
                    Key
                  </th>
                  {fields.map(({ name, text: { label } }) => (
                    <th key={name} role="columnheader" scope="col">
                      {label}
                    </th>
                  ))}
                  <th role="columnheader" scope="col">
                    <span class="visually-hidden">Remove</span>
                  </th>
                </tr>
              </thead>
              <tbody role="rowgroup">
                {sorted.map(({ level, at }) => (
                  <LevelRow key={level.key} level={level} path={[...path, at]} fields={fields} onRemove={onRemove} />
                ))}
              </tbody>
            </table>
          </div>
        </Changeable>
      )}
      <div class="list-tools">
        <ChangeButton onClick={() => setIsAdding(true)}>Add level</ChangeButton>
      </div>
      {isAdding && <NewObject list="levels" path={path} text={text} schema={schema} onClose={() => setIsAdding(false)} />}
    </>
  );
}

interface LevelRowProps extends Pick<LevelsTableProps, 'path' | 'onRemove'> {
  readonly level: Keyed;
  readonly fields: Parameters<typeof FieldControl>[0]['field'][];
}

function LevelRow({ level, path, fields, onRemove }: LevelRowProps) {
  const { problems } = useDraft();
  const problem = problemAt(problems, path);
  return (
    <tr role="row">
      <td role="cell" data-title="Key">
        <code>{level.key}</code>
        {problem !== undefined && <p class="problem">{problem}</p>}
      </td>
      {fields.map((field) => (
        <td key={field.name} role="cell" data-title={field.text.label}>
          {/* The label is in the head of the table for those who see it. */}
          <FieldControl field={{ ...field, text: { label: `${field.text.label}, ${level.key}` } }} path={[...path, field.name]} />
        </td>
      ))}
      <td role="cell">
        <button type="button" aria-label={`Remove ${level.key}`} onClick={() => onRemove(path, level)}>
          Remove
        </button>
      </td>
    </tr>
  );
}
