import eslint from '@eslint/js';
import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

/** What the scripts that run without a build (bin/, this file, the reporter) use of Node's globals. */
const nodeGlobals = Object.fromEntries(
  ['AbortSignal', 'Buffer', 'URL', 'clearTimeout', 'console', 'fetch', 'module', 'process', 'require', 'setTimeout'].map((name) => [
    name,
    'readonly',
  ]),
);

export default defineConfig(
  globalIgnores(['dist/', '.dist-*/', '.laurel/', '.laurel-demo/', 'coverage/', 'src/dashboard/page/api/schema/']),
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  eslint.configs.recommended,
  {
    files: ['**/*.{ts,tsx}'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      // A `default` may stand for the other members of a foreign union. For our own it asserts `never`, which the compiler holds.
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      // A number in a text is clear, and `void` as the result of a one-line arrow function is how handlers are written.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      // A name that starts with an underscore holds a place: a parameter before one that is used, a property that is left out of a rest.
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true }],
      // `while (true)` with a `return` inside is the plain form of a loop that ends in its middle.
      '@typescript-eslint/no-unnecessary-condition': ['error', { allowConstantLoopConditions: 'only-allowed-literals' }],
      eqeqeq: 'error',
    },
  },
  {
    files: ['src/**/*.{ts,tsx}'],
    // What the service says goes through its log, and what a command prints through `Print`.
    rules: { 'no-console': 'error' },
  },
  {
    files: ['test/**/*.ts'],
    rules: {
      // chai's assertions are property reads (`expect(x).to.be.true`), and a test may know what its types can't.
      '@typescript-eslint/no-unused-expressions': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
    },
  },
  { files: ['**/*.{js,mjs,cjs}'], languageOptions: { globals: nodeGlobals } },
);
