import './styles.css';
import './ui/ui.css';
import './app/shell.css';
import { QueryClientProvider } from '@tanstack/preact-query';
import { render } from 'preact';
import { createQueryClient } from './api/query-client.js';
import { App } from './app/app.js';
import { askForDraft } from './app/load.js';
import { applyTheme, storedTheme } from './ui/theme.js';

applyTheme(storedTheme());
addEventListener('beforeunload', askForDraft);

const root = document.getElementById('page');
if (root) {
  render(
    <QueryClientProvider client={createQueryClient()}>
      <App />
    </QueryClientProvider>,
    root,
  );
}
