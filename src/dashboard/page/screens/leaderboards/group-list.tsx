import { useQuery } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import { own } from '../../../../shared/own.js';
import { given } from '../../api/given.js';
import { useScope } from '../../scope/scope.js';
import { useAddress } from '../../scope/use-address.js';
import { TextField } from '../../ui/field.js';
import { formatNumber } from '../../ui/format.js';
import { Panel } from '../../ui/page.js';
import { ListPager, usePaging } from '../../ui/paged-table.js';
import { Loaded } from '../../ui/states.js';
import { Table } from '../../ui/table.js';
import { groupName, groupText, type Part } from './groups.js';

const groupsPerPage = 8;

/** The groups of a run, the shown one among them, and a form for one that is not on the page. */
export function Groups({ part }: { readonly part: Part }) {
  const { api } = useScope();
  const address = useAddress();
  const paging = usePaging(address, 'groups', groupsPerPage);
  const { board, run, group } = part;
  const read = useQuery(
    api.admin.query('/leaderboards/{id}/groups', { params: { path: { id: board.id }, query: given({ run, ...paging.range }) } }),
  );
  return (
    <Panel title={`Groups by ${board.breakdownAttributes.join(' and ')}`} actions={<GroupForm keys={board.breakdownAttributes} />}>
      <Loaded of={read}>
        {({ groups }) => (
          <>
            <Table
              caption="Groups"
              rows={groups.slice(0, groupsPerPage)}
              keyOf={({ attributes }) => groupText(attributes)}
              empty="This page has no groups."
              columns={[
                {
                  title: 'Group',
                  cell: ({ attributes }) => {
                    const text = groupText(attributes);
                    return (
                      <a
                        href={address.with({ group: text, groups: address.query['groups'] })}
                        aria-current={text === group ? 'true' : undefined}
                      >
                        {groupName(attributes)}
                      </a>
                    );
                  },
                },
                { title: 'Participants', isNumber: true, cell: ({ participants }) => formatNumber(participants) },
                {
                  title: 'Shown',
                  cell: ({ attributes }) => groupText(attributes) === group && 'shown below',
                },
              ]}
            />
            <ListPager of="Groups" paging={paging} rows={groups.length} />
          </>
        )}
      </Loaded>
    </Panel>
  );
}

/** Opens a group by its values. */
function GroupForm({ keys }: { readonly keys: readonly string[] }) {
  const { change } = useAddress();
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const open = (event: SubmitEvent): void => {
    event.preventDefault();
    change({ group: groupText(keys.map((key) => ({ key, value: own(values, key) ?? '' }))) });
  };
  return (
    <form class="inline" onSubmit={open} aria-label="Open a group">
      {keys.map((key) => (
        <TextField
          key={key}
          label={key}
          value={own(values, key) ?? ''}
          isRequired
          onChange={(value) => {
            setValues({ ...values, [key]: value });
          }}
        />
      ))}
      <button type="submit">Open the group</button>
    </form>
  );
}
