import js from '@eslint/js';
import importX, { createNodeResolver } from 'eslint-plugin-import-x';
import tseslint from 'typescript-eslint';

/**
 * The direction of data, api → workflows → activities → db, as a rule on imports (ARCHITECTURE.md). Each zone names a
 * folder and what it may not reach; types of activities are what a workflow calls them by, so these alone are let
 * through.
 */
const forbid = (target, ...from) =>
  from.map((one) => ({
    target,
    from: one.from ?? one,
    ...(one.except && { except: one.except }),
    message: `${target} must not import from ${one.from ?? one}`,
  }));
const zones = [
  ...forbid('./db', './api', './workflows', './activities', './scripts', './test'),
  ...forbid('./activities', './api', './scripts', './test'),
  ...forbid('./activities', {
    from: './workflows',
    except: ['./contract.ts', './client.ts', './util/payload-codec.ts', './domain'],
  }),
  ...forbid('./api', './scripts', './test', { from: './activities', except: ['./html'] }),
  ...forbid('./api', {
    from: './workflows',
    except: ['./contract.ts', './client.ts', './util/payload-codec.ts', './domain'],
  }),
  ...forbid('./workflows', './api', './db', './scripts', './test'),
  ...forbid('./activities/html', './db', './settings.ts', { from: './activities', except: ['./html'] }),
  ...forbid('./activities/html', { from: './workflows', except: ['./domain'] }),
  ...forbid('./workflows/domain', { from: './workflows', except: ['./domain'] }),
  ...forbid('./settings.ts', './api', './db', './workflows', './activities', './scripts', './test'),
];

/**
 * HTML and SVG are components, which escape by themselves (activities/html/, Preact); no text is put between tags by
 * hand.
 */
const TAGS =
  'html|head|body|title|meta|link|style|script|main|section|article|header|footer|nav|div|span|p|br|hr|a|b|i|em|strong|small|pre|h[1-6]|ul|ol|li|dl|dt|dd|table|caption|thead|tbody|tr|th|td|form|label|input|button|select|option|textarea|fieldset|legend|details|summary|figure|img|time|bdi|svg|g|path|rect|circle|line|text|tspan|desc';
const markup = [
  ...['Literal[value', 'TemplateElement[value.raw'].map((text) => ({
    selector: `${text}=/<\\/?(${TAGS})(\\s|\\/?>)/i]`,
    message: 'HTML and SVG are written as components (activities/html/), not as text',
  })),
  {
    selector: 'CallExpression[callee.property.name=/^replace/][arguments.1.value=/^&(amp|lt|gt|quot|#[0-9]+);$/]',
    message: 'components escape by themselves (activities/html/)',
  },
  {
    selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']",
    message: 'only activities/html/ puts text into a page unescaped, each time with its reason',
  },
];
const clock = [
  {
    selector: "CallExpression[callee.object.name='Date'][callee.property.name='now']",
    message: 'the time is nowMs() of db/client/clock.ts; what is only measured, performance.now()',
  },
  {
    selector: "NewExpression[callee.name='Date'][arguments.length=0]",
    message: 'the time is nowIso() of db/client/clock.ts',
  },
];

export default tseslint.config(
  { ignores: ['dist/**', 'node_modules/**', '.data/**', '.cache/**', 'docs/**'] },
  js.configs.recommended,
  ...tseslint.configs.recommended,
  {
    plugins: { 'import-x': importX },
    settings: {
      'import-x/resolver-next': [createNodeResolver({ extensionAlias: { '.js': ['.ts', '.tsx', '.js'] } })],
      'import-x/extensions': ['.ts', '.tsx', '.js', '.mjs'],
      'import-x/parsers': { '@typescript-eslint/parser': ['.ts', '.tsx'] },
    },
    rules: {
      'import-x/no-restricted-paths': ['error', { zones }],
      'import-x/no-cycle': ['error', { ignoreExternal: true }],
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true, caughtErrorsIgnorePattern: '^_' },
      ],
      '@typescript-eslint/no-explicit-any': 'error',
      'no-empty': ['error', { allowEmptyCatch: false }],
      'no-console': 'off',
      eqeqeq: ['error', 'always', { null: 'ignore' }],
    },
  },
  {
    files: ['**/*.mjs'],
    languageOptions: {
      globals: {
        setImmediate: 'readonly',
        process: 'readonly',
        AbortController: 'readonly',
        console: 'readonly',
        URL: 'readonly',
        setTimeout: 'readonly',
        clearTimeout: 'readonly',
        setInterval: 'readonly',
        clearInterval: 'readonly',
        performance: 'readonly',
        fetch: 'readonly',
        AbortSignal: 'readonly',
        Buffer: 'readonly',
      },
    },
  },
  {
    // What a browser runs.
    files: ['api/portal/page/*.js', 'api/console/assets/*.js', 'api/identity/page/*.js', 'api/http/documents/*.js'],
    languageOptions: {
      sourceType: 'module',
      globals: {
        SwaggerUIBundle: 'readonly',
        AbortSignal: 'readonly',
        performance: 'readonly',
        document: 'readonly',
        location: 'readonly',
        history: 'readonly',
        navigator: 'readonly',
        fetch: 'readonly',
        FormData: 'readonly',
        URL: 'readonly',
        URLSearchParams: 'readonly',
        Intl: 'readonly',
        window: 'readonly',
        self: 'readonly',
        atob: 'readonly',
        Notification: 'readonly',
        DOMException: 'readonly',
        Option: 'readonly',
        sessionStorage: 'readonly',
        localStorage: 'readonly',
        setInterval: 'readonly',
        clearInterval: 'readonly',
        setTimeout: 'readonly',
        clearTimeout: 'readonly',
      },
    },
  },
  {
    // An assertion of chai is an expression.
    files: ['test/**/*.ts'],
    rules: { '@typescript-eslint/no-unused-expressions': 'off' },
  },
  {
    // Mocha loads a reporter by require().
    files: ['**/*.cjs'],
    languageOptions: {
      sourceType: 'commonjs',
      globals: { require: 'readonly', module: 'writable', process: 'readonly', console: 'readonly' },
    },
    rules: { '@typescript-eslint/no-require-imports': 'off' },
  },
  {
    files: ['workflows/**/*.ts', 'scripts/**/*.{ts,tsx}', 'test/capture-simulator/*.tsx'],
    rules: { 'no-restricted-syntax': ['error', ...markup] },
  },
  {
    // A deadline is no matter of the clock of the machine that happens to look.
    files: ['api/**/*.{ts,tsx}', 'activities/**/*.{ts,tsx}', 'db/**/*.ts'],
    rules: { 'no-restricted-syntax': ['error', ...clock, ...markup] },
  },
  {
    // A workflow knows of activities only their types: their code must not get into its sandbox.
    files: ['workflows/**/*.ts'],
    rules: {
      'no-restricted-imports': 'off',
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              group: ['**/activities/**'],
              allowTypeImports: true,
              message: 'workflows may import only types of activities',
            },
            { group: ['node:*'], message: 'workflow code runs in a sandbox without Node' },
          ],
        },
      ],
      'no-restricted-globals': ['error', { name: 'process', message: 'not in a workflow' }],
    },
  },
  {
    // Client and worker seal payloads outside of the sandbox; no workflow imports this file.
    files: ['workflows/util/payload-codec.ts'],
    rules: { '@typescript-eslint/no-restricted-imports': 'off' },
  },
  {
    // The decision is pure: no clock, no chance, no Temporal API.
    files: ['workflows/domain/**/*.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        ...markup,
        { selector: "MemberExpression[object.name='Date']", message: 'the domain has no clock' },
        { selector: "NewExpression[callee.name='Date']", message: 'calendar dates are Temporal.PlainDate' },
        {
          selector: "MemberExpression[object.name='Math'][property.name='random']",
          message: 'the domain has no chance',
        },
        {
          selector: "MemberExpression[object.name='Temporal'][property.name='Now']",
          message: 'the domain has no clock',
        },
      ],
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          patterns: [
            { group: ['@temporalio/*'], message: 'the domain knows no Temporal' },
            { group: ['node:*'], message: 'the domain is pure' },
            { group: ['**/activities/**', '**/db/**'], message: 'the domain imports itself only' },
          ],
        },
      ],
    },
  },
);
