'use strict';

// The test suites of other projects, at fixed versions. A suite has `repository` and `ref`; `install`, once after cloning; `test`,
// which writes its results to $RESULTS; `format` of these; `server`, what its configuration expects; `env`; and `own`: tests of
// pg's private parts, with what they touch.

/** pnpm and Yarn of the version that the project names are not needed. With --force, npx starts where only pnpm may. */
const PNPM = 'npx --yes --force pnpm@10 --config.manage-package-manager-versions=false';

/** Development tools of a project's authors that no test needs. */
const without = (
  ...names
) => `node -e "const fs = require('fs'); for (const file of process.argv.slice(1)) { const json = JSON.parse(fs.readFileSync(file));
  for (const name of Object.keys(json.devDependencies ?? {})) if (/${names.join('|')}/.test(name)) delete json.devDependencies[name];
  fs.writeFileSync(file, JSON.stringify(json)); }"`;

const MOCHA = '--reporter json --reporter-option output=$RESULTS';
const VITEST = '--reporter=json --outputFile=$RESULTS';

/** What the tests of Drizzle for node-postgres need, of all that its repository has. */
const DRIZZLE = {
  type: 'module',
  dependencies: {
    'async-retry': '1',
    dockerode: '4',
    dotenv: '16',
    'drizzle-orm': '0.45.2',
    'get-port': '7',
    keyv: '5',
    pg: '8',
    uuid: '9',
    'vite-tsconfig-paths': '4',
    vitest: '3'
  }
};

/** The tests of Prisma's adapter need its packages. Those of its client need the schema engine, a program outside of npm. */
const PRISMA = {
  name: '@prisma/adapter-pg',
  version: '7.9.1',
  dependencies: {
    '@prisma/debug': '7.9.1',
    '@prisma/driver-adapter-utils': '7.9.1',
    pg: '8',
    'postgres-array': '3.0.4',
    vitest: '4'
  }
};

/** What TypeORM's tests connect to. */
const TYPEORM = [
  { type: 'postgres', host: 'localhost', port: 5432, username: 'typeorm', password: 'typeorm', database: 'typeorm' }
];

/** Prints a line of TAP for a command. */
const TAP = 'tap() { if "${@:2}"; then echo "ok 1 $1"; else echo "not ok 1 $1"; fi; }';

const SUITES = {
  'connect-pg-simple': {
    repository: 'voxpelli/node-connect-pg-simple',
    ref: 'v10.0.0',
    format: 'mocha',
    install: 'npm install --ignore-scripts',
    server: { database: 'connect_pg_simple_test' },
    test: `touch test/.env && npx mocha "test/**/*.spec.js" --exit ${MOCHA}`
  },
  drizzle: {
    repository: 'drizzle-team/drizzle-orm',
    ref: '0.45.2',
    format: 'jest',
    install: `cd integration-tests && echo '${JSON.stringify(DRIZZLE)}' > package.json && npm install`,
    server: { database: 'drizzle' },
    test: `cd integration-tests && npx vitest run tests/pg/node-postgres.test.ts tests/relational/pg.test.ts tests/replicas/postgres.test.ts ${VITEST}`,
    env: { PG_CONNECTION_STRING: 'postgres://postgres:postgres@localhost:5432/drizzle' }
  },
  'graphile-worker': {
    repository: 'graphile/worker',
    ref: 'v0.17.3',
    format: 'jest',
    jest: 'jest.config.js',
    install:
      `${without('docusaurus', 'fortawesome', 'mdx', 'eslint', 'react', 'svgo', 'juice', 'depcheck')} package.json && ` +
      'npm install --ignore-scripts --legacy-peer-deps && npm run prepack && ' +
      // Node.js 14 has fewer globals.
      "sed -i 's/this.global.AbortController = .*/Object.assign(this.global, { AbortController, AbortSignal, performance });/' __tests__/nodeEnvironment.js",
    server: { port: 5433 },
    prepare: './scripts/setup_template_db.sh',
    test: 'node --experimental-vm-modules node_modules/.bin/jest --config $CONFIG --json --outputFile $RESULTS',
    env: { NO_LOG_SUCCESS: '1' }
  },
  keyv: {
    repository: 'jaredwray/keyv',
    ref: '2026-01-20',
    format: 'jest',
    install:
      `${PNPM} install --ignore-scripts --filter "@keyv/postgres..." && ` +
      'for name in serialize keyv test-suite; do (cd packages/$name && npx tsup src/index.ts --format cjs,esm); done',
    server: { database: 'keyv_test' },
    test: `cd packages/postgres && npx vitest run test/test.ts ${VITEST}`
  },
  knex: {
    repository: 'knex/knex',
    ref: '3.3.0',
    format: 'mocha',
    install: 'npm install --ignore-scripts && npx tsc',
    server: { user: 'testuser', password: 'knextest', database: 'knex_test', port: 25432 },
    test: `npx mocha --exit -t 10000 test/prep-db-mocha.js test/integration-test-suite.js $(find test/integration2 -name "*.spec.js" | grep -v sqlite) ${MOCHA}`,
    env: { DB: 'postgres' }
  },
  kysely: {
    repository: 'kysely-org/kysely',
    ref: 'v0.29.5',
    format: 'mocha',
    install: `${PNPM} install --frozen-lockfile && npx tsc && npx tsc -p test/node`,
    server: { user: 'kysely', password: 'kysely', database: 'kysely_test', port: 5434 },
    test: `npx mocha --timeout 15000 "test/node/dist/**/*.test.js" ${MOCHA}`,
    env: { DIALECTS: 'postgres' }
  },
  'node-pg-migrate': {
    repository: 'salsita/node-pg-migrate',
    ref: 'v9.0.0',
    format: 'tap',
    install: `${PNPM} install --frozen-lockfile --ignore-scripts && npx tsdown`,
    test: `${TAP}; for direction in "up" "down 0 --timestamps"; do
      tap "$direction" node bin/node-pg-migrate.js $direction -m test/migrations; done > $RESULTS`,
    env: { DATABASE_URL: 'postgres://postgres:postgres@localhost:5432/postgres' }
  },
  'pg-boss': {
    repository: 'timgit/pg-boss',
    ref: '12.27.0',
    format: 'jest',
    install: 'npm install --ignore-scripts',
    server: { database: 'pgboss' },
    test: `npx vitest run --typecheck.enabled=false --maxWorkers=6 --testTimeout=60000 --hookTimeout=60000 ${VITEST}`
  },
  'pg-promise': {
    repository: 'vitaly-t/pg-promise',
    ref: '12.7.0',
    format: 'junit',
    install: 'npm install --ignore-scripts',
    server: { database: 'pg_promise_test' },
    prepare: 'node test/db/init.js',
    test: 'npx jasmine-node --captureExceptions --junitreport --output $RESULTS test',
    own: { 'Database Protocol must have all the root-level methods': "the name of the pool's class, BoundPool" }
  },
  prisma: {
    repository: 'prisma/prisma',
    ref: '7.9.1',
    format: 'jest',
    install: `rm vitest.config.ts && cd packages/adapter-pg && echo '${JSON.stringify(PRISMA)}' > package.json && npm install`,
    test: `cd packages/adapter-pg && npx vitest run ${VITEST}`
  },
  sequelize: {
    repository: 'sequelize/sequelize',
    ref: 'v6.37.8',
    format: 'junit',
    install: 'npm install --ignore-scripts && node build.js',
    server: { user: 'sequelize_test', password: 'sequelize_test', database: 'sequelize_test', port: 23010 },
    test: `npx mocha -r ./test/registerEsbuild "test/integration/**/*.test.[tj]s" --reporter xunit --reporter-options output=$RESULTS`,
    env: { DIALECT: 'postgres' }
  },
  slonik: {
    repository: 'gajus/slonik',
    ref: 'slonik@49.10.6',
    format: 'tap',
    install:
      `${without('eslint', 'oxlint', 'oxfmt', 'cspell', 'knip', 'changeset')} package.json packages/*/package.json; rm -f pnpm-lock.yaml; ` +
      `${PNPM} install --no-frozen-lockfile --ignore-scripts; ` +
      'for name in types utilities errors sql-tag driver pg-driver slonik; do (cd packages/$name && npx tsc --project tsconfig.json); done; true',
    test: 'cd packages/slonik && npx ava --serial --tap > $RESULTS'
  },
  typeorm: {
    repository: 'typeorm/typeorm',
    ref: '1.1.0',
    format: 'mocha',
    install: `${PNPM} install --frozen-lockfile --ignore-scripts && npx --force tsc && echo '${JSON.stringify(TYPEORM)}' > ormconfig.json`,
    server: { user: 'typeorm', password: 'typeorm', database: 'typeorm' },
    test: `npx --force mocha ${MOCHA}`
  }
};

module.exports = { SUITES };
