import { useMutation } from '@tanstack/preact-query';
import { Page } from '../ui/page.js';
import { ErrorNote } from '../ui/states.js';
import { loadAgain } from './load.js';

/** In place of a screen that can't be loaded, or that fails. */
export function ScreenError({ error }: { readonly error: unknown }) {
  const { mutate, error: refusal } = useMutation({ mutationFn: loadAgain });
  return (
    <Page title="This screen can’t be shown">
      <ErrorNote error={refusal ?? error} retry={mutate} />
    </Page>
  );
}
