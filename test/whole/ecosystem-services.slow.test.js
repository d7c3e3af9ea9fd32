'use strict';

// The same small service with this library and with `postgres`: support/service-*.mjs.

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { promisify } = require('node:util');
const { examples } = require('../support/examples');
const { installed } = require('../support/folder');
const { afterTest } = require('../support/hooks');
const { sharedServer } = require('../support');

const SUPPORT = path.join(__dirname, '../support');

/** Uses all of a service, and prints what it saw. */
const PROGRAM = `
import * as service from './service.mjs';
import { once } from 'node:events';

const { add, buy, change, find, server } = service;
if (!server.listening) await once(server, 'listening');
await add([{ id: 1, name: 'pen', price: 2, stock: 1 }, { id: 2, name: 'ink', price: 5, stock: 9 }]);
await change(2, { price: 6 });
await buy(1, 'Ann');
const refused = await buy(1, 'Bob').catch(error => error.message);
const get = async accepted => {
  const response = await fetch(\`http://localhost:\${server.address().port}/\`, { headers: { 'accept-encoding': accepted } });
  const { headers } = response;
  return [response.status, headers.get('content-type'), headers.get('content-encoding'), /accept-encoding/i.test(headers.get('vary')), await response.text()];
};
const seen = [await find('ink'), (await find('none')) ?? null, refused, await get('identity')];
await add(Array.from({ length: 98 }, (_, n) => ({ id: 3 + n, name: 'another thing', price: n, stock: 0 })));
seen.push(await get('gzip'));
await (service.sql ? service.sql\`DROP TABLE items\` : service.pool.query('DROP TABLE items'));
seen.push(await get('gzip'));
console.log(JSON.stringify(seen));
server.close();
await (service.pool ?? service.sql).end();
`;

const JSON_TYPE = 'application/json; charset=utf-8';
const TWO = [
  { id: 1, name: 'pen', price: 2 },
  { id: 2, name: 'ink', price: 6 }
];
const HUNDRED = [...TWO, ...Array.from({ length: 98 }, (_, n) => ({ id: 3 + n, name: 'another thing', price: n }))];
const SEEN = [
  { id: 2, price: 6 },
  null,
  'sold out',
  [200, JSON_TYPE, null, true, JSON.stringify(TWO)],
  [200, JSON_TYPE, 'gzip', true, JSON.stringify(HUNDRED)],
  [500, null, null, false, '']
];

describe('A service of one pool, four kinds of queries and a JSON route', () => {
  for (const name of ['quickgres', 'postgres']) {
    it(`runs with ${name}`, async function () {
      const modules = path.join(installed(this, 'ecosystem'), 'node_modules');
      const server = await sharedServer();
      const { host, port, user, database, password = '' } = server.config;
      await server.sql(`CREATE SCHEMA service_${name}; SET search_path = service_${name};
        CREATE TABLE items (id int PRIMARY KEY, name text, price int, stock int); CREATE TABLE orders (item int, buyer text)`);
      const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'service-'));
      afterTest(async () => {
        fs.rmSync(folder, { recursive: true });
        await server.sql(`DROP SCHEMA service_${name} CASCADE`);
      });
      fs.mkdirSync(path.join(folder, 'node_modules'));
      fs.symlinkSync(path.join(__dirname, '../..'), path.join(folder, 'node_modules/quickgres'), 'junction');
      fs.symlinkSync(path.join(modules, 'postgres'), path.join(folder, 'node_modules/postgres'), 'junction');
      fs.copyFileSync(path.join(SUPPORT, `service-${name}.mjs`), path.join(folder, 'service.mjs'));
      fs.writeFileSync(path.join(folder, 'program.mjs'), PROGRAM);
      const url = `postgres://${user}:${password}@${host}:${port}/${database}?options=${encodeURIComponent(`-c search_path=service_${name}`)}`;
      const env = { ...process.env, DATABASE_URL: url, PORT: '0' };
      const { stdout } = await promisify(execFile)(process.execPath, ['program.mjs'], {
        cwd: folder,
        env,
        timeout: 20000
      });
      assert.deepEqual(JSON.parse(stdout), SEEN);
    });
  }

  const written = name => fs.readFileSync(path.join(SUPPORT, `service-${name}.mjs`), 'utf8');

  it('needs no more characters than with postgres', () => {
    const [ours, theirs] = ['quickgres', 'postgres'].map(name => written(name).length);
    assert.ok(ours <= theirs, `${ours} characters, ${theirs} with postgres`);
  });

  it('is the one of the README', () => assert.equal(examples('README.md', 'mjs')[0].code, written('quickgres')));
});
