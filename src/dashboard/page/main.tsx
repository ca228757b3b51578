import './styles.css';
import './ui/ui.css';
import './shell.css';
import { QueryClientProvider } from '@tanstack/preact-query';
import { render } from 'preact';
import { createQueryClient } from './api/query-client.js';
import { App } from './app.js';

const root = document.getElementById('page');
if (root) {
  render(
    <QueryClientProvider client={createQueryClient()}>
      <App />
    </QueryClientProvider>,
    root,
  );
}
