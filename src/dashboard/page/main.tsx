import './styles.css';
import './ui/ui.css';
import './shell.css';
import { render } from 'preact';
import { App } from './app.js';

const root = document.getElementById('page');
if (root) render(<App />, root);
