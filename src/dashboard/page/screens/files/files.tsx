import { useMutation, useQuery } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import { dataOf } from '../../api/errors.js';
import { ConfigurationFrame } from '../../editor/draft/frame.js';
import { useScope } from '../../scope/scope.js';
import { formatNumber } from '../../ui/format.js';
import { Page, Panel } from '../../ui/page.js';
import { saveFile } from '../../ui/save-file.js';
import { ErrorNote } from '../../ui/states.js';
import { Import } from './import.js';

/** The configuration as a YAML file. */
export default function Files() {
  return (
    <ConfigurationFrame>
      <Page
        title="Import and export"
        about="The configuration as a YAML file: for version control, for another installation, and for large changes."
      >
        <Export />
        <Import />
      </Page>
    </ConfigurationFrame>
  );
}

function Export() {
  const { api } = useScope();
  const current = useQuery(api.admin.query('/configuration'));
  const version = current.data?.version;
  const [size, setSize] = useState<number>();
  const download = useMutation({
    mutationFn: async () => dataOf(await api.admin.GET('/configuration/file', { parseAs: 'text' })),
    onSuccess: (text) => {
      const blob = new Blob([text], { type: 'text/yaml' });
      saveFile(blob, `laurel${version === undefined ? '' : `-${version}`}.yaml`);
      setSize(blob.size);
    },
  });
  return (
    <Panel title="Export">
      <p>
        The file has everything that is in use{version === undefined ? '' : ` in version ${version}`}, without the secrets of webhooks.{' '}
        <code>laurel apply</code> takes it, and so does the import below.
      </p>
      {download.error && <ErrorNote error={download.error} />}
      <div class="actions">
        <button type="button" disabled={download.isPending} onClick={() => download.mutate()}>
          Download YAML
        </button>
        {size !== undefined && <span role="status">Downloaded {formatNumber(size)} bytes.</span>}
      </div>
    </Panel>
  );
}
