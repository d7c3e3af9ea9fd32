'use strict';

const assert = require('node:assert/strict');
const { PassThrough, Readable } = require('node:stream');
const { pipeline } = require('node:stream/promises');
const { Client, RowReader } = require('../..');
const { ResponseCache } = require('../../lib/cache');
const { Pool } = require('../../lib/pool');
const { checkOptions, NAMES, NO_OPTIONS, NO_VALUES } = require('../../lib/core/options');
const { connected } = require('../support');

const ALL = new Set(Object.values(NAMES).flatMap(names => [...names]));

describe('Options of a query', () => {
  it('may be absent, or what they are meant to be', () => {
    for (const options of [
      NO_OPTIONS,
      { format: 0 },
      { format: 1 },
      { cache: false },
      { paramTypes: [] },
      { paramTypes: [0, 23, 4294967295] },
      { decode: true },
      { decode: false },
      { decode: {} },
      { decode: new Map([[23, Number]]) },
      { decode: { 23: [undefined, Number] } }
    ])
      assert.doesNotThrow(() => checkOptions(options, NAMES.query), JSON.stringify(options));
  });

  it('are refused by their name where they are anything else', () => {
    for (const [name, values] of Object.entries({
      buffer: [-1, NaN, '1', null],
      stall_timeout: [-1, NaN, '1', null, 2 ** 31, true],
      cache: [0, 1, null, 'true', {}],
      format: [2, -1, '0', null, true, NaN],
      paramTypes: [23, null, '23', [-1], [1.5], ['23'], [4294967296], [null], new Array(65536).fill(0)],
      decode: [null, 1, 'true', { 23: 'number' }, { 23: [1] }, new Map([[23, null]])]
    })) {
      for (const value of values) {
        assert.throws(
          () => checkOptions({ [name]: value }, ALL),
          error => error instanceof TypeError && error.message.startsWith(name)
        );
      }
    }
  });

  it('are refused where there are none of their name', () => {
    checkOptions(undefined, NAMES.query);
    checkOptions({ format: 1, decode: undefined }, NAMES.query);
    assert.throws(() => checkOptions({ decod: true }, NAMES.batched), {
      name: 'TypeError',
      message: 'there is no option decod here; the options are format, cache, paramTypes, decode, names'
    });
    assert.throws(() => checkOptions(AbortSignal.timeout(1), NAMES.query), TypeError); // an options' value for all of them
  });

  it('are looked at by whatever takes some, before anything is sent', async () => {
    const client = await connected();
    const target = new PassThrough();
    const wrong = { redaOnly: true };
    const misspelt = { name: 'TypeError', message: /^(queries\[1\]: )?there is no option redaOnly here; / };
    for (const ask of [
      () => client.query('SELECT 1', [], wrong),
      () => client.simpleQuery('SELECT 1', wrong),
      () => client.batch(['SELECT 1'], wrong),
      () => client.batch(['SELECT 1', ['SELECT 1', [], wrong]]),
      () => client.transaction(() => {}, wrong),
      async () => client.cursor('SELECT 1', [], wrong),
      () => client.queryTo(target, 'SELECT 1', [], wrong),
      async () => client.copyTo('COPY users TO STDOUT', wrong),
      async () => client.copyFrom('COPY users FROM STDIN', wrong),
      async () => client.listen('news', wrong)
    ]) {
      await assert.rejects(ask, misspelt, String(ask));
      assert.equal(client.pending, 0);
    }
  });

  it('and all other input that is wrong reject with the TypeError and nothing else, inside a transaction and outside', async () => {
    const client = await connected();
    const rejections = [];
    const count = error => rejections.push(error);
    process.on('unhandledRejection', count);
    const target = () => new PassThrough();
    const rejecting = {
      query: [
        [5],
        ['SELECT 1', 5],
        ['SELECT $1', [new Map()]],
        ['SELECT 1', [], { format: 7 }],
        ['SELECT 1', [], 7],
        ['SELECT 1', [], null],
        ['SELECT 1', [], { signal: 1 }],
        ['SELECT 1', [], { statement_timeout: -1 }],
        ['SELECT 1', [], 0, 'yes'],
        ['SELECT 1', [], 0, true, {}],
        ['SELECT 1', [], { stream: 5 }],
        ['COPY users FROM STDIN', [new Map()]],
        ['COPY users FROM STDIN', [], { signal: 1 }]
      ],
      batch: [
        [5],
        [[5]],
        [[['SELECT 1', 5]]],
        [[['SELECT 1', [], { cache: 1 }]]],
        [['SELECT 1'], 5],
        [['SELECT 1'], { signal: 1 }],
        [['COPY t FROM STDIN']],
        [new Array(3)]
      ],
      simpleQuery: [[5], ['SELECT 1\0'], ['SELECT 1', 5], ['SELECT 1', { decode: 5 }], ['SELECT 1', { signal: 1 }]],
      transaction: [
        [5],
        [() => {}, 5],
        [() => {}, { isolation: 'x' }],
        [() => {}, { readOnly: 1 }],
        [() => {}, { deferrable: null }]
      ],
      queryTo: [
        [5, 'SELECT 1'],
        [{}, 'SELECT 1'],
        [target(), 5],
        [target(), 'SELECT 1', 5],
        [target(), 'SELECT 1', [], { as: 'x' }],
        [target(), 'SELECT 1', [], { signal: 1 }],
        [target(), 'SELECT 1', [], { separator: 1, as: 'values' }],
        [target(), 'SELECT $1', [new Map()]],
        [target(), 'COPY t FROM STDIN']
      ],
      close: [
        ['X', 'a'],
        ['S', 5],
        ['S', '\0']
      ]
    };
    const throwing = {
      cursor: [
        [5],
        ['SELECT 1', 5],
        ['SELECT 1', [new Map()]],
        ['SELECT 1', [], { batchSize: 0 }],
        ['SELECT 1', [], { format: 2 }],
        ['SELECT 1', [], 5],
        ['COPY t FROM STDIN']
      ],
      copyTo: [
        [5],
        ['SELECT 1'],
        ['COPY t FROM STDIN'],
        ['COPY t TO STDOUT', 5],
        ['COPY t TO STDOUT', { signal: 1 }],
        ['COPY t TO STDOUT', { highWaterMark: 'x' }]
      ],
      copyFrom: [
        [5],
        ['SELECT 1'],
        ['COPY t TO STDOUT'],
        ['COPY t FROM STDIN', 5],
        ['COPY t FROM STDIN', { signal: 1 }],
        ['COPY t FROM STDIN', { highWaterMark: 'x' }]
      ]
    };
    const steps = [
      [5],
      ['SELECT 1', 5],
      ['SELECT 1', [new Map()]],
      ['SELECT 1', [], 2],
      ['SELECT 1', [], 0, 5],
      ['COPY t FROM STDIN']
    ];
    const outside = { ...throwing, startQuery: steps, listen: [[5], [''], ['a\0'], ['a', 5], ['a', { signal: 1 }]] };
    const tryAll = async (on, where, throws) => {
      for (const [method, lists] of Object.entries(rejecting)) {
        for (const [index, args] of lists.entries()) {
          const about = `${where} ${method} ${index}`;
          let promise;
          assert.doesNotThrow(() => {
            promise = on[method](...args);
          }, about);
          await assert.rejects(promise, { name: 'TypeError' }, about);
        }
      }
      for (const [method, lists] of Object.entries(throws)) {
        for (const [index, args] of lists.entries())
          assert.throws(() => on[method](...args), TypeError, `${where} ${method} ${index}`);
      }
    };
    try {
      await tryAll(client, 'outside', outside);
      for (const max of [-1, '5']) await assert.rejects(client.getResults(max), TypeError);
      assert.equal(client.pending, 0);
      await client.transaction(async tx => {
        await tryAll(tx, 'inside', throwing);
        assert.equal((await tx.query('SELECT 1 AS one')).rows[0].one, 1, 'the block has not failed');
        await tx.transaction(nested => tryAll(nested, 'in a savepoint', throwing));
      });
      await new Promise(setImmediate);
      assert.deepEqual(rejections, []);
      assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
      assert.equal(client.pending, 0);
    } finally {
      process.removeListener('unhandledRejection', count);
    }
  });

  it('and other arguments in a wrong place are told what to write', async () => {
    const client = await connected();
    const callback = () => {};
    for (const [ask, message] of [
      [
        () => client.simpleQuery('SELECT $1', [1]),
        /^options must be an object, not an array: query\(text, values, options\) takes values$/
      ],
      [() => client.cursor('SELECT $1', [1], [1]), /^options must be an object, not an array/],
      [
        () => client.query('SELECT 1', callback),
        /^values must be an array or a row, not a function: query takes no callback, but returns a promise$/
      ],
      [
        () => client.query('SELECT 1', [], callback),
        /^format must be .* not a function: there are no callbacks, but promises/
      ],
      [
        () => client.listen('a', callback),
        /^options must be an object, not a function: there are no callbacks, .* async iterables$/
      ],
      [
        () => client.query('SELECT 1', [], { decode: true, stream: new RowReader() }),
        /^decode has no effect on a stream of yours: write new RowReader\(\{ decode \}\)$/
      ],
      [
        () => client.query('SELECT 1', { decode: true }),
        /^values must be .* not an object: all values go into one array, query\(text, \[value, …\], options\)$/
      ],
      [() => client.query('SELECT $1, $2', 1, 2), /^values must be .* not a number: all values go into one array/],
      [() => client.query('SELECT $1, $2', 'a', 'b'), /^values must be .* not a string: all values go into one array/],
      [
        () => client.query('SELECT 1', [], { timeout: 5 }),
        /^there is no option timeout here: write statement_timeout; the options are format, /
      ],
      [
        () => client.queryTo('SELECT 1', new PassThrough()),
        /^queryTo takes \(target, text, values, options\), not a text first$/
      ],
      [
        () => client.transaction({ isolation: 'serializable' }, callback),
        /^transaction takes a function, then options, not an object$/
      ],
      [
        () => new Client('postgres://localhost/x', { decode: true }),
        /^argument 2 is an object, which would be ignored: write new Client\(\{ connectionString: url, ssl \}\)$/
      ],
      [() => new Client({}, undefined, 5), /^argument 3 is a number, which would be ignored: write new Client/],
      [
        () => new Pool({}, {}, { size: 5 }),
        /^argument 3 is an object, .* write new Pool\(\{ connectionString: url \}, \{ size: 10 \}\)$/
      ],
      [
        () => new Pool('postgres://localhost/x', { decode: true }),
        /^there is no option decode here: it belongs to the config, or to a query; the options are size/
      ],
      [
        () => new ResponseCache(client, {}, {}),
        /^argument 3 is an object, .* write new ResponseCache\(client, options\)$/
      ],
      [
        () => new Client().connect({ host: 'localhost' }),
        /^connect takes \(port, host, ssl\) or \(socketPath\), not an object: the config goes to new Client/
      ],
      [
        () => pipeline(Readable.from([{ id: 1 }]), client.copyFrom('COPY t FROM STDIN')),
        /^copyFrom takes text and Buffers, not an object: for rows, set the option columns/
      ]
    ])
      await assert.rejects(async () => ask(), { name: 'TypeError', message }, String(ask));
  });

  it('have defaults that nobody can change', () => {
    assert.ok(Object.isFrozen(NO_OPTIONS) && Object.isFrozen(NO_VALUES));
  });
});
