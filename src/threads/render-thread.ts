/** The thread that renders the templates of operators (threads.ts). */
import { renderTasks } from './render-tasks.js';
import { serve } from './serve.js';

serve(renderTasks);
