'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { startServer } = require('pg-test-fixtures');
const quickgres = require('..');
const { OPTIONS } = require('../lib/config/options');
const { FIELDS } = require('../lib/protocol/errors');
const { installed } = require('./folder');

const root = path.join(__dirname, '..');
const read = (...names) => fs.readFileSync(path.join(root, ...names), 'utf8');

/** Public by their names, and still nobody's business but of the other rooms. */
const INTERNAL = {
  ResponseCache: ['age', 'settings', 'take'], RowParser: ['decoderOf', 'forFormat', 'type'], RowReader: ['message', 'receive', 'receiveData', 'start'],
  CopyTo: ['giveUp', 'pipe'], CopyFrom: ['giveUp'], Cursor: ['take'], Listener: ['give'], PgOutput: ['relation', 'xid']
};

/** Made or set without a declaration that could be read: fields that the server sends, and what is set later. */
const fields = [...new Set(Object.values(FIELDS))].filter(name => name !== 'message');
const SET = {
  PostgresError: [...fields, 'index', 'name'], ConnectionError: ['cause', 'code', 'name', 'sent'], AbortError: ['cause', 'code', 'name'],
  UsageError: ['code', 'name'], ProtocolError: ['code', 'name'], ResponseError: ['name', 'response', 'status'],
  ResponseCache: ['max_age', 'max_answer_bytes', 'max_bytes', 'stale_while_revalidate'],
  RowReader: ['binary', 'columnCount', 'columnFormats', 'format'], RowParser: ['columnNames', 'columns'],
  CopyTo: ['columnCount', 'columnFormats'], Listener: ['channel']
};
const EMITTER = ['addListener', 'off', 'on', 'once', 'prependListener', 'prependOnceListener', 'removeListener'];

/** An object that says which of its properties are looked at. */
function spy(names, seen, values = {}) {
  return new Proxy(Object.fromEntries(names.map(name => [name, values[name]])), {
    get(target, name) {
      if (typeof name === 'string') seen.add(name);
      return target[name];
    }
  });
}

describe('TypeScript', () => {
  let folder;
  before(function () {
    folder = installed(this, 'typescript');
  });

  describe('compiles', () => {
    let project, compiling;
    before(function () {
      this.timeout(120000);
      compiling = require('./typescript/compile');
      project = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'types-')));
      compiling.layOut(project);
    });
    after(() => fs.rmSync(project, { recursive: true, force: true }));

    const NEWEST = ['real use and misuse, node16', 'real use and misuse, bundler', 'a page without Node\'s types',
      'the examples of the README, node16', 'the examples of the README, bundler'];
    const projects = [...NEWEST.map(name => ['typescript', name]), ...NEWEST.slice(0, 3).map(name => ['typescript-5', name])];
    for (const [compiler, name] of projects) {
      it(`${name}, by ${compiler}`, async () => {
        const complaints = await compiling.compile(project, name, compiler);
        assert.ok(complaints === '', complaints);
      }).timeout(120000);
    }

    it('all that there is to compile', () => assert.deepEqual(NEWEST, Object.keys(compiling.PROJECTS)));

    it('the real use, which also runs', async function () {
      this.timeout(120000);
      const server = await startServer({ external: false, sample: 100, settings: { wal_level: 'logical' } });
      try {
        const { transpileModule } = require('./typescript/node_modules/typescript-5');
        const { outputText } = transpileModule(read('test', 'typescript', 'use.mts'), {
          compilerOptions: { target: 'es2022', module: 'esnext' }, fileName: 'use.mts'
        });
        const file = path.join(project, 'use.mjs');
        fs.writeFileSync(file, outputText);
        const { default: use } = await import(pathToFileURL(file));
        await use({ ...server.config, database: server.database || 'postgres', host: server.host, port: server.port });
      } finally {
        await server.stop();
      }
    });

    it('misuse, of which every line is wrong by itself', () => {
      const lines = read('test', 'typescript', 'misuse.mts').split('\n');
      const cases = lines.slice(lines.findIndex(line => line.startsWith('// @ts-expect-error'))).filter(line => line !== '');
      assert.ok(cases.length > 80);
      cases.forEach((line, index) => assert.equal(line.startsWith('// @ts-expect-error '), index % 2 === 0, line));
    });
  });

  describe('knows what is there', () => {
    let types, browserTypes, sources, browserSources;
    before(function () {
      this.timeout(60000);
      const { declared, written } = require('./typescript/surface');
      types = declared(path.join(root, 'index.d.ts'));
      browserTypes = declared(path.join(root, 'client-parser', 'index.d.ts'));
      sources = written(path.join(root, 'lib'));
      browserSources = written(path.join(root, 'client-parser'));
      // Client's are its own, and those of the classes that it extends.
      const session = { members: new Map([...sources.get('StreamingSession').members, ...sources.get('Session').members]) };
      sources.set('Session', session);
      const client = sources.get('Client');
      client.members = new Map([...session.members, ...client.members]);
      // Rows are those of client-parser, here and there.
      for (const [name, base] of [['RowReader', 'Result'], ['RowParser', 'RowDescription']]) {
        for (const side of [sources, browserSources]) {
          const own = side.get(name);
          if (own) own.members = new Map([...browserSources.get(base).members, ...own.members]);
        }
      }
    });

    const valuesOf = ({ exports }) => [...exports].filter(([, { value }]) => value).map(([name]) => name).sort();

    it('the names that a program can import', async () => {
      assert.deepEqual(valuesOf(types), Object.keys(quickgres).sort());
      const parser = await import('../client-parser/index.js');
      assert.deepEqual(valuesOf(browserTypes), Object.keys(parser).sort());
      const modules = await import('../index.mjs');
      assert.deepEqual(Object.keys(modules).sort(), [...Object.keys(quickgres), 'default'].sort());
    });

    it('the members of every class, and how many arguments they take', () => {
      let compared = 0;
      for (const [{ exports }, written] of [[types, sources], [browserTypes, browserSources]]) {
        for (const [name, { value, call, members, statics }] of exports) {
          const source = written.get(name);
          if (source === undefined || name === 'PacketReceiver') continue; // in lib/ that is what writes to one
          if (value) assert.deepEqual(call, source.call, name);
          const known = new Map([...source.members].filter(([member]) => !INTERNAL[name]?.includes(member)));
          for (const member of SET[name] ?? []) if (members.has(member)) known.set(member, null);
          if (name === 'ResponseCache' || known.has('connect')) {
            for (const member of EMITTER) if (members.has(member)) known.set(member, members.get(member));
          }
          const sorted = map => [...map].sort(([a], [b]) => a < b ? -1 : 1);
          assert.deepEqual(sorted(members), sorted(known), name);
          if (quickgres[name] && statics.size > 0) {
            for (const each of statics.keys()) assert.ok(each in quickgres[name], `${name}.${each}`);
          }
          compared++;
        }
      }
      assert.ok(compared > 20, `${compared} were compared`);
    });

    it('the fields of errors', () => {
      const error = new quickgres.PostgresError(Object.fromEntries(fields.map(name => [name, '1'])));
      const declaredFields = [...types.exports.get('PostgresError').members.keys()];
      assert.deepEqual(declaredFields.sort(), [...Object.keys(error), 'index', 'name'].sort());
      assert.deepEqual(types.propertiesOf('ServerFields').sort(), [...fields, 'message'].sort());
      for (const [name, ...args] of [['ConnectionError', 'm', { cause: 1, sent: true }], ['AbortError', 'm', 1], ['UsageError', 'm', 'c']]) {
        const made = new quickgres[name](...args);
        for (const field of SET[name]) assert.ok(field in made, `${name}.${field}`);
      }
    });

    it('the events', () => {
      const emitted = new Set([...read('lib', 'client.js').matchAll(/emit\('(\w+)'/g)].map(([, name]) => name));
      assert.deepEqual(types.propertiesOf('ClientEvents').sort(), [...emitted].sort());
      const cache = new Set([...read('lib', 'response-cache.js').matchAll(/emit\('(\w+)'/g)].map(([, name]) => name));
      assert.deepEqual(types.propertiesOf('ResponseCacheEvents'), [...cache]);
    });

    it('what is traced', () => {
      const traced = types.exports.get('TracedQuery').members;
      assert.deepEqual([...traced.keys()].sort(), [...sources.get('Operation').members.keys()].sort());
    });

    it('the parameters of a connection', () => {
      // Those that change nothing, or are refused, need no help of an editor.
      const silent = ['sslcompression', 'krbsrvname', 'gsslib', 'gssdelegation', 'requirepeer', 'sslcrl', 'sslcrldir', 'sslkeylogfile',
        'scram_client_key', 'scram_server_key', 'oauth_issuer', 'oauth_client_id', 'oauth_client_secret', 'oauth_scope'];
      assert.deepEqual(types.propertiesOf('Config').sort(),
        [...Object.keys(OPTIONS).filter(name => !silent.includes(name)), 'database', 'socket', 'ssl'].sort());
    });

    it('the options of every method', async () => {
      const client = new quickgres.Client();
      const cache = new quickgres.ResponseCache();
      const target = () => new (require('node:stream').PassThrough)();
      const http = () => Object.assign(target(), { method: 'GET', headers: {}, getHeader() {}, setHeader() {}, hasHeader() {} });
      const cached = { response_cache: cache };
      const nothing = () => {};
      const CALLS = {
        QueryOptions: [options => client.query('SELECT 1', [], options), cached],
        BatchOptions: [options => client.batch([['SELECT 1', [], options]])],
        Abortable: [options => client.simpleQuery('SELECT 1', options)],
        QueryToOptions: [options => client.queryTo(target(), 'SELECT 1', [], options), {}, cached],
        RespondOptions: [options => client.respond(http(), http(), 'SELECT 1', [], options), {}, cached],
        CachedOptions: [options => client.query('SELECT 1', [], options), cached],
        CursorOptions: [options => client.cursor('SELECT 1', [], options)],
        TransactionOptions: [options => client.transaction(nothing, options)],
        CopyStreamOptions: [options => client.copyTo('COPY t TO STDOUT', options).on('error', nothing)],
        CopyBothOptions: [options => client.copyBoth('START_REPLICATION', options).on('error', nothing)],
        ResponseCacheOptions: [options => new quickgres.ResponseCache(options)]
      };
      // A transaction looks at its options when it begins.
      client._pipeline.enter = scope => { if (scope.onenter) scope.onenter(); };
      for (const [name, [call, ...variants]] of Object.entries(CALLS)) {
        const known = types.propertiesOf(name).sort();
        const seen = new Set();
        for (const values of variants.length > 0 ? variants : [{}]) {
          await Promise.race([Promise.resolve(call(spy(known, seen, values))).catch(nothing), new Promise(setImmediate)]);
        }
        if (!known.includes('decode')) seen.delete('decode'); // checked everywhere
        assert.deepEqual([...seen].sort().filter(each => name !== 'CachedOptions' || known.includes(each)), known, name);
      }
      client.destroy();
    });
  });
});
