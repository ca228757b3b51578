import { distance } from 'fastest-levenshtein';
import { settingsSchema } from './settings.js';

/** Shorter names are too close to those of others: `PORT` to `PORTS`, `HOST` to `GHOST`. */
const minChars = 8;
/** Names of at least this length may have two typing errors: `METRIC_PROT`. */
const longChars = 10;

export interface Misspelt {
  readonly variable: string;
  /** The setting that was probably meant. */
  readonly setting: string;
}

/** Variables of the environment that have no meaning to Laurel and are almost the name of a setting that is not set, such as `CORS_ORIGIN`. */
export function misspeltSettings(env: NodeJS.ProcessEnv): Misspelt[] {
  const settings = Object.keys(settingsSchema.shape);
  const isSet = (name: string): boolean => env[name] !== undefined && env[name] !== '';
  const wanted = settings.filter((name) => name.length >= minChars && !isSet(name));
  return Object.keys(env).flatMap((variable) => {
    if (settings.includes(variable) || !isSet(variable)) return [];
    const setting = wanted.find((name) => distance(variable.toUpperCase(), name) <= (name.length < longChars ? 1 : 2));
    return setting === undefined ? [] : [{ variable, setting }];
  });
}
