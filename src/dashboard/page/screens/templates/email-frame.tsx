import { useEffect, useRef } from 'preact/hooks';

/**
 * An email in a document of its own, which has no origin and runs nothing of the email (src/dashboard/preview-frame.ts). The page's own policy
 * has no inline styles, so the email can't be part of it.
 */
export function EmailFrame({ html }: { readonly html: string }) {
  const frame = useRef<HTMLIFrameElement>(null);
  const isReady = useRef(false);
  const show = (): void => {
    // A document without an origin can't be named as the target.
    frame.current?.contentWindow?.postMessage(html, '*');
  };
  useEffect(() => {
    if (isReady.current) show();
  }, [html]);
  return (
    <iframe
      ref={frame}
      class="email"
      title="Preview of the email"
      src="/dashboard/preview"
      sandbox="allow-scripts"
      onLoad={() => {
        isReady.current = true;
        show();
      }}
    />
  );
}
