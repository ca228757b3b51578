import './configuration.css';
import '../changes/differences.css';
import type { ComponentChildren } from 'preact';

/** Around the screens of the configuration: their styles hold only inside it. */
export function ConfigurationFrame({ children }: { readonly children: ComponentChildren }) {
  return <div class="configuring">{children}</div>;
}
