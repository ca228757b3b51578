import { useState } from 'preact/hooks';
import { Dialog } from './dialog.js';

interface SecretDialogProps {
  readonly title: string;
  readonly secret: string;
  /** What the secret is for, and what to do with it. */
  readonly about: string;
  readonly onClose: () => void;
}

/** Shows a secret that the service returns only once. */
export function SecretDialog({ title, secret, about, onClose }: SecretDialogProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <p class="note warning">This is the only time that you can see it. {about}</p>
      <p class="secret">
        <code>{secret}</code>
      </p>
      <footer class="actions">
        <CopyButton text={secret} />
        <button type="button" class="primary" onClick={onClose}>
          Done
        </button>
      </footer>
    </Dialog>
  );
}

/** Copies a text. Without a clipboard, which browsers allow only over https and on localhost, it says so. */
export function CopyButton({ text }: { readonly text: string }) {
  const [said, setSaid] = useState('');
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setSaid('Copied');
    } catch {
      setSaid('The browser does not allow copying: select the text');
    }
  };
  return (
    <>
      <span role="status" class="hint">
        {said}
      </span>
      <button type="button" onClick={() => void copy()}>
        Copy
      </button>
    </>
  );
}
