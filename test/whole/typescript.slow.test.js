'use strict';

const assert = require('node:assert/strict');
const { tracingChannel } = require('node:diagnostics_channel');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { PassThrough } = require('node:stream');
const { pathToFileURL } = require('node:url');
const { startServer } = require('pg-test-fixtures');
const quickgres = require('../..');
const { OPTIONS } = require('../../lib/core/config/options');
const { FIELDS } = require('../../client-parser/messages.js');
const { installed } = require('../support/folder');

const root = path.join(__dirname, '../..');
const read = (...names) => fs.readFileSync(path.join(root, ...names), 'utf8');

/** The entry points of the package by name: their declarations and what they load. */
const ENTRIES = Object.fromEntries(
  Object.entries(require('../../package.json').exports)
    .filter(([name]) => !/\*|json$/.test(name))
    .map(([name, target]) => {
      const { types, default: file } = target.require ?? target;
      return [name.replace('.', 'quickgres'), { types, load: () => require(path.join(root, file)) }];
    })
);

/** Public by their names, and still nobody's business but of the other folders. */
const INTERNAL = {
  Client: ['push', 'receiver'],
  Session: ['listen'],
  RowParser: ['camel', 'decoderOf', 'decoders', 'forFormat', 'isOwn', 'known', 'of', 'platform', 'textType', 'type'],
  RowReader: ['lacking', 'made', 'message', 'receive', 'receiveData', 'retype', 'start', 'types', 'wants'],
  CopyTo: ['giveUp', 'pipe'],
  CopyFrom: ['end', 'giveUp', 'write'],
  Listener: ['give'],
  PgOutput: ['relation']
};

/** Made or set without a declaration that could be read: fields that the server sends, and what is set later. */
const fields = [...new Set(Object.values(FIELDS))].filter(name => name !== 'message');
const OF_SYSTEM = ['errno', 'syscall', 'address', 'port', 'hostname'];
const SET = {
  PostgresError: [...fields, 'at', 'index', 'name', 'query'],
  ConnectionError: ['cause', 'code', 'name', 'query', 'sent', ...OF_SYSTEM],
  AbortError: ['cause', 'code', 'name', 'query'],
  TimeoutError: ['cause', 'code', 'name', 'query', 'sent'],
  UsageError: ['cause', 'code', 'name', 'query'],
  ProtocolError: ['code', 'name'],
  ResponseError: ['name', 'response', 'status'],
  CopyTo: ['columnCount', 'columnFormats'],
  Listener: ['channel'],
  ResponseCache: ['max_age', 'max_answer_bytes', 'max_bytes', 'stale_while_revalidate'],
  RowReader: ['arrays', 'binary', 'cmd', 'columnCount', 'columnFormats', 'format', 'objects', 'oid', 'rowParser'],
  RowParser: ['columnNames', 'columns']
};
const EMITTER = ['addListener', 'off', 'on', 'once', 'prependListener', 'prependOnceListener', 'removeListener'];

describe('TypeScript', () => {
  before(function () {
    installed(this, 'typescript');
  });

  describe('compiles', () => {
    let project, compiling;
    before(function () {
      this.timeout(120000);
      compiling = require('../typescript/compile');
      project = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'types-')));
      compiling.layOut(project);
    });
    after(() => fs.rmSync(project, { recursive: true, force: true }));

    const NEWEST = [
      'real use and misuse, node16',
      'real use and misuse, bundler',
      'what is written for pg',
      "a page without Node's types",
      'the examples of the documents, node16',
      'the examples of the documents, bundler'
    ];
    const OLDER = 'every entry point, node10'; // the default beside `module: commonjs`, which TypeScript 7 no longer has
    const compilers = ['typescript', 'typescript-5'];
    const projects = [
      ...NEWEST.map(name => ['typescript', name]),
      ...[...NEWEST.slice(0, 4), OLDER].map(name => ['typescript-5', name])
    ];
    for (const [compiler, name] of projects) {
      it(`${name}, by ${compiler}`, async () => {
        const complaints = await compiling.compile(project, name, compiler);
        assert.ok(complaints === '', complaints);
      }).timeout(120000);
    }

    for (const compiler of compilers) {
      it(`what is wrong with a value, and not that a text is no piece, by ${compiler}`, async () => {
        const values = ['new Map()', 'new Set()', '() => 1', 'Symbol("a")'];
        const lines = values.map(value => `client.query('SELECT $1', [${value}]);`);
        fs.writeFileSync(
          path.join(project, 'hint.mts'),
          `import { Client } from 'quickgres';\nconst client = new Client();\n${lines.join('\n')}`
        );
        const complaints = await compiling.compile(project, NEWEST[0], compiler, ['hint.mts']);
        const each = complaints.split(/^(?=hint)/m);
        assert.equal(each.length, values.length, complaints);
        for (const complaint of each) assert.match(complaint, /is not assignable to (?:parameter of )?type 'Value/);
      }).timeout(120000);
    }

    /** Mistakes, and what the first telling line names. */
    const MISTAKES = {
      'new Pool({ max: 5 });': "'max'",
      'new Pool({}, { max: 5 });': "'max' does not exist in type 'PoolOptions'",
      "new Client({ hots: 'x' });": "'hots'",
      "client.query('SELECT $1', [undefined]);": "'undefined' is not assignable to type 'Value'",
      "client.query('SELECT $1', [1, maybe]);": "'string | undefined' is not assignable to type 'Value'",
      "client.query('SELECT $1', [new Map()]);": "'Map<any, any>' is not assignable to type 'Value'",
      "client.query('SELECT $1', [() => {}]);": "'() => void' is not assignable to type 'Value'",
      "client.query('SELECT $1', 5);": "'5'",
      "client.query('SELECT $1', new Map());": "'Map<any, any>'",
      "client.query({ text: 'SELECT 1', values: [] });": "'{ text: string; values: never[]; }'",
      "client.query('SELECT 1', [], () => {});": "'() => void'",
      "client.query('SELECT 1', () => {});": "'() => void'",
      'client.query(5);': "'number' is not assignable to parameter of type 'string'",
      "client.query('SELECT 1', [], { sginal: 5 });": "'sginal'",
      "client.query('SELECT 1', [], { statement_timeout: '5' });": "'string' is not assignable to type 'number'",
      "client.transaction(async () => {}, { isolaton: 'x' });": "'isolaton'",
      "client.cursor('SELECT 1', [], { batchsize: 5 });": "'batchsize'",
      "client.cursor('SELECT 1', [undefined]);": "'undefined' is not assignable to type 'Value'"
    };
    for (const compiler of compilers) {
      it(`what is wrong, by the option or the value, in the first line that tells, by ${compiler}`, async () => {
        fs.writeFileSync(
          path.join(project, 'mistakes.mts'),
          "import { Client } from 'quickgres';\nimport { Pool } from 'quickgres/pool';\n" +
            `const client = new Client();\ndeclare const maybe: string | undefined;\n${Object.keys(MISTAKES).join('\n')}
            new Client(new URL('postgres://x'));
            new Pool(new URL('postgres://x'), {});`
        );
        const complaints = await compiling.compile(project, NEWEST[0], compiler, ['mistakes.mts']);
        const each = complaints.split(/^(?=mistakes)/m);
        assert.equal(each.length, Object.keys(MISTAKES).length, complaints);
        for (const [index, named] of Object.values(MISTAKES).entries()) {
          const telling = each[index].split('\n').find(line => !/overload/.test(line));
          assert.ok(telling.includes(named), `${named}: ${each[index]}`);
          assert.doesNotMatch(each[index], /\bURL\b|Row<any>/);
        }
      }).timeout(120000);
    }

    it('few signatures and completions in an editor', () => {
      const ts = require('../typescript/node_modules/typescript-5');
      const file = path.join(project, 'editor.mts');
      const text = `import { Client } from 'quickgres'; import { Pool } from 'quickgres/pool';
        const client = new Client(); new Pool({ /* pool */ }); new Client({ /* client */ }); client.query(/* query */);
        client.cursor(/* cursor */); client.transaction(tx => tx.commit(/* commit */));`;
      const content = name => (name === file ? text : ts.sys.readFile(name));
      const service = ts.createLanguageService({
        ...ts.sys,
        useCaseSensitiveFileNames: () => true,
        getScriptFileNames: () => [file],
        getScriptVersion: () => '1',
        getScriptSnapshot: name => ts.ScriptSnapshot.fromString(content(name) ?? ''),
        getCurrentDirectory: () => project,
        getCompilationSettings: () => ({
          strict: true,
          module: ts.ModuleKind.Node16,
          moduleResolution: ts.ModuleResolutionKind.Node16
        }),
        getDefaultLibFileName: ts.getDefaultLibFilePath,
        fileExists: name => name === file || ts.sys.fileExists(name)
      });
      const at = what => text.indexOf(`/* ${what} */`);
      const signatures = method => service.getSignatureHelpItems(file, at(method), {}).items.length;
      assert.deepEqual(['query', 'cursor', 'commit'].map(signatures), [15, 7, 6]);
      for (const each of ['pool', 'client']) {
        const names = service.getCompletionsAtPosition(file, at(each), {}).entries.map(({ name }) => name);
        assert.ok(names.includes('statement_cache') && !names.includes('work_mem'));
        assert.equal(names.length, 47);
      }
      service.dispose();
    });

    it('all that there is to compile', () =>
      assert.deepEqual([...NEWEST, OLDER].sort(), Object.keys(compiling.PROJECTS).sort()));

    for (const name of ['use', 'capabilities']) {
      it(`the real use in ${name}.mts, which also runs`, async function () {
        this.timeout(120000);
        const server = await startServer({ external: false, sample: 100, settings: { wal_level: 'logical' } });
        try {
          const { transpileModule } = require('../typescript/node_modules/typescript-5');
          const { outputText } = transpileModule(read('test', 'typescript', `${name}.mts`), {
            compilerOptions: { target: 'es2022', module: 'esnext' },
            fileName: `${name}.mts`
          });
          const file = path.join(project, `${name}.mjs`);
          fs.writeFileSync(file, outputText);
          const { default: use } = await import(pathToFileURL(file));
          await use({
            ...server.config,
            database: server.database || 'postgres',
            host: server.host,
            port: server.port
          });
        } finally {
          await server.stop();
        }
      });
    }

    it('misuse, of which every line is wrong by itself', () => {
      const lines = read('test', 'typescript', 'misuse.mts').split('\n');
      const cases = lines
        .slice(lines.findIndex(line => line.startsWith('// @ts-expect-error')))
        .filter(line => line !== '');
      assert.ok(cases.length > 80);
      cases.forEach((line, index) => assert.equal(line.startsWith('// @ts-expect-error '), index % 2 === 0, line));
    });
  });

  describe('knows what is there', function () {
    this.timeout(60000);
    const entries = new Map();
    let types, sources, browserSources;
    before(() => {
      const { declared, written } = require('../typescript/surface');
      const files = Object.values(ENTRIES).map(entry => path.join(root, entry.types));
      declared(files).forEach((each, index) => entries.set(Object.keys(ENTRIES)[index], each));
      types = entries.get('quickgres');
      browserSources = written(path.join(root, 'client-parser'));
      sources = written(path.join(root, 'lib'), browserSources);
    });

    const valuesOf = ({ exports }) =>
      [...exports]
        .filter(([, { value }]) => value)
        .map(([name]) => name)
        .sort();

    for (const [name, { load }] of Object.entries(ENTRIES)) {
      it(`the names that a program can import from ${name}`, async () => {
        const there = Object.keys(await load()).filter(each => !['__esModule', 'module.exports'].includes(each));
        assert.deepEqual(valuesOf(entries.get(name)), there.sort());
      });
    }

    it('their declarations by paths, since node10 finds no package by its own name in a linked clone', () => {
      for (const { types } of Object.values(ENTRIES)) assert.doesNotMatch(read(types), /from 'quickgres/, types);
    });

    it('the same names for modules', async () => {
      const modules = await import('../../index.mjs');
      assert.deepEqual(Object.keys(modules).sort(), [...Object.keys(quickgres), 'default'].sort());
    });

    it('the members of every class, and how many arguments they take', () => {
      let compared = 0;
      for (const [entry, { exports }] of entries) {
        if (entry === 'quickgres/pg') continue; // its classes have the names of others
        for (const [name, { value, call, members }] of exports) {
          const source = (entry === 'quickgres/client-parser' ? browserSources : sources).get(name);
          if (source === undefined || ['Config', 'PacketReceiver', 'Transaction'].includes(name)) continue; // in lib/ these are something else
          if (!value && members.size === 0) continue; // a type that has the name of something else
          // A constructor may take more from the other folders.
          const filled = (there, said) =>
            there && said && there.required === undefined ? { ...there, required: said.required } : there;
          if (value)
            assert.deepEqual(
              call && { ...call, most: Math.max(call.most, source.call.most) },
              filled(source.call, call),
              name
            );
          const known = new Map(
            [...source.members]
              .filter(([member]) => !INTERNAL[name]?.includes(member))
              .map(([member, there]) => [member, filled(there, members.get(member))])
          );
          for (const member of source.assigned) if (members.get(member) === null) known.set(member, null);
          for (const member of SET[name] ?? []) if (members.has(member)) known.set(member, null);
          for (const member of EMITTER) if (members.has(member)) known.set(member, members.get(member));
          const sorted = map => [...map].sort(([a], [b]) => (a < b ? -1 : 1));
          assert.deepEqual(sorted(members), sorted(known), `${entry}: ${name}`);
          compared++;
        }
      }
      assert.ok(compared > 20, `${compared} were compared`);
      for (const name of types.exports.get('Client').statics.keys()) assert.ok(name in quickgres.Client, name);
    });

    it('the members of the classes of quickgres/pg', async () => {
      const pg = ENTRIES['quickgres/pg'].load();
      const instances = [
        new pg.Client(),
        new pg.Pool(),
        new pg.Query('SELECT 1'),
        new pg.TypeOverrides(),
        new pg.Result(),
        new pg.DatabaseError('no')
      ];
      for (const instance of instances) {
        const { name, prototype } = instance.constructor;
        const { members, statics } = entries.get('quickgres/pg').exports.get(name);
        const server = name === 'DatabaseError' ? [...fields, 'at', 'index', 'query'] : []; // what a server's error may have
        const missing = [...members.keys()].filter(each => !(each in instance) && !server.includes(each));
        assert.deepEqual(missing, [], name);
        const known = new Set(['constructor', 'finish', 'getOverrides', 'queryQueue', 'submitted', ...members.keys()]);
        const undeclared = Object.getOwnPropertyNames(prototype).filter(
          each => !each.startsWith('_') && !known.has(each)
        );
        assert.deepEqual(undeclared, [], name);
        for (const each of statics.keys()) assert.ok(each in instance.constructor, each);
      }
      await instances[1].end();
    });

    it('the fields of errors', () => {
      const error = new quickgres.PostgresError(Object.fromEntries(fields.map(name => [name, '1'])));
      const declaredFields = [...types.exports.get('PostgresError').members.keys()];
      assert.deepEqual(declaredFields.sort(), [...Object.keys(error), 'at', 'index', 'name', 'query'].sort());
      assert.deepEqual(types.propertiesOf('ServerFields').sort(), [...fields, 'message'].sort());
      for (const [name, ...args] of [
        ['ConnectionError', 'm', { cause: 1, sent: true }],
        ['AbortError', 'm', 1],
        ['TimeoutError', 'm', { code: '1', cause: 1, sent: true }],
        ['UsageError', 'm', 'c', new Error('cause')]
      ]) {
        const made = new quickgres[name](...args);
        for (const field of SET[name])
          assert.ok(field === 'query' || OF_SYSTEM.includes(field) || field in made, `${name}.${field}`);
      }
    });

    it('the events', () => {
      const emitted = new Set(
        [...read('lib', 'core', 'client.js').matchAll(/#(?:emit|message)\('(\w+)'/g)].map(([, name]) => name)
      );
      assert.deepEqual(types.propertiesOf('ClientEvents').sort(), [...emitted].sort());
    });

    it('what is traced', async () => {
      const seen = [];
      const channel = tracingChannel('quickgres:query');
      const subscribers = { start: operation => seen.push(operation) };
      channel.subscribe(subscribers);
      await new quickgres.Client().query('SELECT 1').catch(() => {});
      channel.unsubscribe(subscribers);
      assert.deepEqual([...types.exports.get('TracedQuery').members.keys()].sort(), Object.keys(seen[0]).sort());
    });

    it('the parameters of a connection', () => {
      // Those that change nothing, or are refused, need no help of an editor.
      const silent = [
        'sslcompression',
        'krbsrvname',
        'gsslib',
        'gssdelegation',
        'requirepeer',
        'sslcrl',
        'sslcrldir',
        'sslkeylogfile',
        'service',
        'servicefile',
        'scram_client_key',
        'scram_server_key',
        'oauth_issuer',
        'oauth_client_id',
        'oauth_client_secret',
        'oauth_scope'
      ];
      const [, union] = /export type RuntimeParameter =([^;]*);/.exec(read('index.d.ts'));
      // 'name', or `prefix_${'one' | 'two'}`
      const parameters = [...union.matchAll(/`(\w+)\$\{([^}]*)\}`|'(\w+)'/g)].flatMap(
        ([, prefix, rest, name]) => name ?? rest.match(/\w+/g).map(each => prefix + each)
      );
      const own = types.propertiesOf('Config').filter(name => !parameters.includes(name));
      assert.deepEqual(
        own.sort(),
        [
          ...new Set([
            ...Object.keys(OPTIONS).filter(name => !silent.includes(name)),
            'connectionString',
            'database',
            'decode',
            'oauth_token',
            'names',
            'socket',
            'ssl'
          ])
        ].sort()
      );
    });

    it('the options of every method', async () => {
      const client = new quickgres.Client();
      const target = new PassThrough();
      const CALLS = {
        QueryOptions: options => client.query('SELECT 1', [], options),
        BatchOptions: options => client.batch([['SELECT 1', [], options]]),
        RequestOptions: options => client.batch(['SELECT 1'], options),
        SimpleQueryOptions: options => client.simpleQuery('SELECT 1', options),
        QueryToOptions: options => client.queryTo(target, 'SELECT 1', [], options),
        CursorOptions: options => client.cursor('SELECT 1', [], options),
        TransactionOptions: options => client.transaction(() => {}, options),
        CopyToOptions: options => client.copyTo('COPY (SELECT 1) TO STDOUT', options),
        CopyFromOptions: options => client.copyFrom('COPY t FROM STDIN', options)
      };
      for (const [name, call] of Object.entries(CALLS)) {
        const error = await (async () => call({ nonsense: 1 }))().catch(error => error);
        const [, known] = /no option nonsense here; the options are (.*)$/.exec(error.message);
        assert.deepEqual(known.split(', ').sort(), types.propertiesOf(name).sort(), name);
      }
    });
  });
});
