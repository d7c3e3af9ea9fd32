// The linter's rules: node .ci/lint/run.js. Rules that are off have their reason here.

import js from '@eslint/js';
import n from 'eslint-plugin-n';
import regexp from 'eslint-plugin-regexp';
import globals from 'globals';

const APART = ['bench/**', 'test/**', '.ci/**', 'client-parser/demo/**']; // with a package.json of their own, or peers of a test
const MODULES = ['**/*.mjs', 'client-parser/*.js', 'client-parser/demo/*.js', 'bench/page/page.js'];

export default [
  {
    ignores: ['**/node_modules/', '**/coverage/', 'package/', '**/artefacts/', 'bench/results/', 'test/recipes/next/']
  },
  js.configs.recommended,
  n.configs['flat/recommended-script'],
  regexp.configs.recommended,
  { files: MODULES, ...n.configs['flat/recommended-module'] },
  {
    files: ['**/*.js', '**/*.mjs'],
    rules: {
      // A parameter says what a function is called with. A property that is taken out of an object is left out of the rest.
      'no-unused-vars': [
        'error',
        { args: 'none', varsIgnorePattern: '^_$', ignoreRestSiblings: true, caughtErrors: 'none' }
      ],
      'no-empty': ['error', { allowEmptyCatch: true }],
      'no-sparse-arrays': 'off', // pairs of decoders
      'regexp/match-any': ['error', { allows: ['[^]', 'dotAll'] }],
      'regexp/no-unused-capturing-group': ['error', { fixable: true }],
      'regexp/no-obscure-range': 'off', // \t-\r: the blanks of C
      // Tests of older versions run the code; the rule calls experimental what every supported version has.
      'n/no-unsupported-features/node-builtins': 'off',
      'n/no-unsupported-features/es-builtins': 'off',
      'n/no-unsupported-features/es-syntax': 'off',
      'n/no-process-exit': 'off' // programs
    }
  },
  {
    files: ['lib/**/*.js'],
    rules: {
      'no-restricted-globals': [
        'error',
        ...['clearImmediate', 'setImmediate'].map(name => ({
          name,
          message: "Jest's jsdom has none: take it from lib/core/timer.js."
        })),
        { name: 'structuredClone', message: "Jest's jsdom has none." },
        { name: 'TextEncoder', message: "Jest's jsdom has none: use Buffer." }
      ]
    }
  },
  {
    files: APART,
    languageOptions: {
      globals: { ...globals.node, ...globals.mocha, ...globals.browser, Bun: 'readonly', Deno: 'readonly' }
    },
    rules: {
      'n/no-missing-require': 'off',
      'n/no-missing-import': 'off',
      'n/no-extraneous-require': 'off',
      'n/no-extraneous-import': 'off',
      'n/no-unpublished-require': 'off',
      'n/no-unpublished-import': 'off',
      'n/no-unpublished-bin': 'off',
      'n/hashbang': 'off',
      'no-control-regex': 'off', // bytes of messages
      'regexp/no-super-linear-backtracking': 'off',
      'regexp/no-contradiction-with-assertion': 'off' // of texts that are known
    }
  },
  { files: ['**/*jest*.js'], languageOptions: { globals: globals.jest } }
];
