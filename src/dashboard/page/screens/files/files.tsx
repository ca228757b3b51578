import { useState } from 'preact/hooks';
import { useAction, useRead } from '../../api/use-read.js';
import { dataOf } from '../../configuration/api.js';
import { ConfigurationFrame } from '../../configuration/frame.js';
import { useScope } from '../../scope.js';
import { formatNumber } from '../../ui/format.js';
import { Page, Panel } from '../../ui/page.js';
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
  const current = useRead(() => api.admin.GET('/configuration'), [api]);
  const version = current.data?.version;
  const [size, setSize] = useState<number>();
  const download = useAction(async () => {
    const text = dataOf(await api.admin.GET('/configuration/file', { parseAs: 'text' }));
    const blob = new Blob([text], { type: 'text/yaml' });
    const link = document.createElement('a');
    link.href = URL.createObjectURL(blob);
    link.download = `laurel${version === undefined ? '' : `-${version}`}.yaml`;
    link.click();
    URL.revokeObjectURL(link.href);
    setSize(blob.size);
  });
  return (
    <Panel title="Export">
      <p>
        The file has everything that is in use{version === undefined ? '' : ` in version ${version}`}, without the secrets of webhooks.{' '}
        <code>laurel apply</code> takes it, and so does the import below.
      </p>
      {download.error !== undefined && <ErrorNote error={download.error} />}
      <div class="actions">
        <button type="button" disabled={download.isRunning} onClick={() => void download.run()}>
          Download YAML
        </button>
        {size !== undefined && <span role="status">Downloaded {formatNumber(size)} bytes.</span>}
      </div>
    </Panel>
  );
}
