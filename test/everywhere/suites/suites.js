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
  knex: {
    repository: 'knex/knex', ref: '3.3.0', format: 'mocha',
    install: 'npm install --ignore-scripts && npx tsc; true',
    server: { user: 'testuser', password: 'knextest', database: 'knex_test', port: 25432 },
    test: `npx mocha --exit -t 10000 --config test/mocha-integration-config-test.js ${MOCHA}`,
    env: { DB: 'postgres' }
  },
  kysely: {
    repository: 'kysely-org/kysely', ref: 'v0.29.5', format: 'mocha',
    install: `${PNPM} install --frozen-lockfile && npx tsc && npx tsc -p test/node`,
    server: { user: 'kysely', password: 'kysely', database: 'kysely_test', port: 5434 },
    test: `npx mocha --timeout 15000 "test/node/dist/**/*.test.js" ${MOCHA}`,
    env: { DIALECTS: 'postgres' }
  },
  'pg-boss': {
    repository: 'timgit/pg-boss', ref: '12.27.0', format: 'jest',
    install: 'npm install --ignore-scripts',
    server: { database: 'pgboss' },
    test: 'npx vitest run --reporter json --outputFile $RESULTS'
  },
  'pg-promise': {
    repository: 'vitaly-t/pg-promise', ref: '12.7.0', format: 'junit',
    install: 'npm install --ignore-scripts',
    server: { database: 'pg_promise_test' },
    prepare: 'node test/db/init.js',
    test: 'npx jasmine-node --captureExceptions --junitreport --output $RESULTS test',
    own: { 'Database Protocol must have all the root-level methods': "the name of the pool's class, BoundPool" }
  },
  sequelize: {
    repository: 'sequelize/sequelize', ref: 'v6.37.8', format: 'mocha',
    install: 'npm install --ignore-scripts && npm run build; true',
    server: { user: 'sequelize_test', password: 'sequelize_test', database: 'sequelize_test', port: 5432 },
    test: `npx mocha "test/integration/**/*.test.js" --exit ${MOCHA}`,
    env: { DIALECT: 'postgres', SEQ_PG_USER: 'sequelize_test', SEQ_PG_PW: 'sequelize_test', SEQ_PG_DB: 'sequelize_test', SEQ_PG_HOST: '127.0.0.1', SEQ_PG_PORT: '5432' }
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
