'use strict';

// The test suites of other projects, at fixed versions. A suite has `repository` and `ref`; `install`, once after cloning; `test`,
// which writes its results to $RESULTS; `format` of these; `server`, what its configuration expects; `env`; and `own`: tests of
// pg's private parts, with what they touch.

/** pnpm and Yarn of the version that the project names are not needed. */
const PNPM = 'npx --yes pnpm@10 --config.manage-package-manager-versions=false';

/** Development tools of a project's authors that no test needs. */
const without = (...names) => `node -e "const fs = require('fs'); for (const file of process.argv.slice(1)) { const json = JSON.parse(fs.readFileSync(file));
  for (const name of Object.keys(json.devDependencies ?? {})) if (/${names.join('|')}/.test(name)) delete json.devDependencies[name];
  fs.writeFileSync(file, JSON.stringify(json)); }"`;

const MOCHA = '--reporter json --reporter-option output=$RESULTS';

const SUITES = {
  'connect-pg-simple': {
    repository: 'voxpelli/node-connect-pg-simple', ref: 'v10.0.0', format: 'mocha',
    install: 'npm install --ignore-scripts',
    server: { database: 'connect_pg_simple_test' },
    test: `touch test/.env && npx mocha "test/**/*.spec.js" --exit ${MOCHA}`
  },
  'graphile-worker': {
    repository: 'graphile/worker', ref: 'v0.17.3', format: 'jest', jest: 'jest.config.cjs',
    install: 'node .yarn/releases/yarn-*.cjs install && node .yarn/releases/yarn-*.cjs prepack',
    prepare: './scripts/setup_template_db.sh',
    test: 'node --experimental-vm-modules node_modules/.bin/jest --config $CONFIG --json --outputFile $RESULTS',
    env: { NO_LOG_SUCCESS: '1' }
  },
  kysely: {
    repository: 'kysely-org/kysely', ref: 'v0.29.5', format: 'mocha',
    install: `${PNPM} install --frozen-lockfile && npx tsc && npx tsc -p test/node`,
    server: { user: 'kysely', password: 'kysely', database: 'kysely_test', port: 5434 },
    test: `npx mocha --timeout 15000 "test/node/dist/**/*.test.js" ${MOCHA}`,
    env: { DIALECTS: 'postgres' }
  },
  'pg-promise': {
    repository: 'vitaly-t/pg-promise', ref: '12.7.0', format: 'junit',
    install: 'npm install --ignore-scripts',
    server: { database: 'pg_promise_test' },
    prepare: 'node test/db/init.js',
    test: 'npx jasmine-node --captureExceptions --junitreport --output $RESULTS test',
    own: { 'Database Protocol must have all the root-level methods': "the name of the pool's class, BoundPool" }
  },
  slonik: {
    repository: 'gajus/slonik', ref: 'slonik@49.10.6', format: 'tap',
    install: `${without('eslint', 'oxlint', 'oxfmt', 'cspell', 'knip', 'changeset')} package.json packages/*/package.json; rm -f pnpm-lock.yaml; ` +
      `${PNPM} install --no-frozen-lockfile --ignore-scripts; ` +
      'for name in types utilities errors sql-tag driver pg-driver slonik; do (cd packages/$name && npx tsc --project tsconfig.json); done; true',
    test: 'cd packages/slonik && npx ava --serial --tap > $RESULTS'
  }
};

module.exports = { SUITES };
