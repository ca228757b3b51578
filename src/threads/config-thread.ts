/** The thread that plans, validates, compares and compiles configurations (threads.ts). */
import { configTasks } from './config-tasks.js';
import { serve } from './serve.js';

serve(configTasks);
