import { useMutation } from '@tanstack/preact-query';
import { dataOf } from '../../api/errors.js';
import { saveFile } from '../../ui/save-file.js';
import { ErrorNote } from '../../ui/states.js';

type Format = 'csv' | 'ndjson';

interface ExportProps {
  /** What is exported, which also names the file: `users`. */
  readonly name: string;
  readonly read: (format: Format) => Promise<{ readonly data?: Blob | undefined }>;
}

/** Saves everything that there is, whatever the filters of the screen are. A browser holds the file until it is complete. */
export function ExportButtons({ name, read }: ExportProps) {
  const save = useMutation({
    mutationFn: async (format: Format) => {
      saveFile(dataOf(await read(format)), `laurel-${name}.${format}`);
    },
  });
  const button = (format: Format, title: string) => (
    <button
      type="button"
      disabled={save.isPending}
      aria-label={`Export ${title}: ${name}`}
      onClick={() => {
        save.mutate(format);
      }}
    >
      Export {title}
    </button>
  );
  return (
    <>
      {button('csv', 'CSV')}
      {button('ndjson', 'NDJSON')}
      {save.isPending && <span role="status">Exporting…</span>}
      {save.error && <ErrorNote error={save.error} />}
    </>
  );
}
