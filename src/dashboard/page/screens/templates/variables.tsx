import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useDraft } from '../../editor/draft/draft.js';
import { insertionOf, variablesOf } from '../../editor/file/template-names.js';
import { Panel } from '../../ui/page.js';
import { Table } from '../../ui/table.js';
import { ChangeButton } from '../../ui/change-button.js';

type TextElement = HTMLInputElement | HTMLTextAreaElement;

const isText = (element: EventTarget | null): element is TextElement =>
  element instanceof HTMLTextAreaElement || (element instanceof HTMLInputElement && element.type === 'text');

interface VariablesProps {
  readonly type: string;
  /** Around the texts that variables are inserted into. */
  readonly form: RefObject<HTMLElement | null>;
}

/** The variables of a type of message; each can be inserted where the operator was typing last. */
export function Variables({ type, form }: VariablesProps) {
  const { file } = useDraft();
  const [search, setSearch] = useState('');
  const last = useRef<TextElement | null>(null);
  useEffect(() => {
    const element = form.current;
    const remember = ({ target }: FocusEvent): void => {
      if (isText(target)) last.current = target;
    };
    element?.addEventListener('focusout', remember);
    return () => element?.removeEventListener('focusout', remember);
  }, []);
  const insert = (text: string): void => {
    const element = last.current;
    if (!element) return;
    const end = element.value.length;
    element.setRangeText(text, element.selectionStart ?? end, element.selectionEnd ?? end, 'end');
    element.dispatchEvent(new Event('input', { bubbles: true }));
    element.focus();
  };
  const wanted = search.trim().toLowerCase();
  const found = variablesOf(type, file).filter(({ name, description }) => `${name} ${description}`.toLowerCase().includes(wanted));
  return (
    <Panel title="Variables">
      <details>
        <summary>Show the variables of this type</summary>
        <div class="stack variables">
          <input
            type="search"
            aria-label="Search variables"
            placeholder="Search variables"
            value={search}
            onInput={(event) => setSearch(event.currentTarget.value)}
          />
          <Table
            caption="Variables"
            rows={found}
            keyOf={({ name }) => name}
            empty="No variable matches the search."
            hasCards
            columns={[
              { title: 'Variable', cell: ({ name }) => <code>{name}</code> },
              { title: 'Meaning', cell: ({ description }) => description },
              {
                title: 'Use',
                cell: (variable) => (
                  <ChangeButton label={`Insert ${variable.name}`} onClick={() => insert(insertionOf(variable))}>
                    Insert
                  </ChangeButton>
                ),
              },
            ]}
          />
        </div>
      </details>
    </Panel>
  );
}
