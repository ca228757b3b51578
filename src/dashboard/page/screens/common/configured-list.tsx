import type { ComponentChildren } from 'preact';
import { useScope } from '../../scope/scope.js';
import { Page, Panel } from '../../ui/page.js';
import { PagedTable, type PagedTableProps } from '../../ui/paged-table.js';

interface ConfiguredListPageProps<T> extends Omit<PagedTableProps<T>, 'caption' | 'empty' | 'keyOf'> {
  readonly title: string;
  readonly about?: string;
  /** What the objects are called in sentences, in the plural. */
  readonly noun: string;
  /** The part of the configuration that has them. */
  readonly part: string;
  /** How the sentence goes on that tells what to do while there are none. */
  readonly then?: string;
  /** Shown below the table. */
  readonly children?: ComponentChildren;
}

/** A screen with all objects of a part of the configuration, which leads to their editors. */
export function ConfiguredListPage<T extends { readonly id: string }>(props: ConfiguredListPageProps<T>) {
  const { title, about, noun, part, then = '', children, ...table } = props;
  const { href } = useScope();
  const editor = href(`/configuration/${part}`);
  return (
    <Page
      title={title}
      about={about}
      actions={
        <a class="button" href={editor}>
          Configure {title.toLowerCase()}
        </a>
      }
    >
      <Panel title={`All ${noun}`}>
        <PagedTable
          {...table}
          caption={title}
          keyOf={({ id }) => id}
          empty={
            <>
              There are no {noun}. <a href={editor}>Add one in the configuration</a>
              {then}.
            </>
          }
        />
        {children}
      </Panel>
    </Page>
  );
}
