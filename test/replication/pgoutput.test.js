'use strict';

const assert = require('node:assert/strict');
const { PgOutput } = require('../../lib/replication');
const { hex } = require('../support');

const RELATION = hex(`'R' 00004001 'public' 00 'users' 00 64 0003
  01 'id' 00 00000017 ffffffff
  00 'name' 00 00000019 ffffffff
  00 '__proto__' 00 00000019 00000008`);
const ROW = "0003 74 00000001 '5' 6e 74 00000002 c3a9";

/** A decoder that knows the table. */
function decoder() {
  const decoder = new PgOutput();
  decoder.decode(RELATION);
  return decoder;
}

/** What the row is, with a column that an object literal cannot have. */
function row(values, proto = 'é') {
  return Object.defineProperty({ ...values }, '__proto__', {
    value: proto,
    writable: true,
    enumerable: true,
    configurable: true
  });
}

/** Messages of every kind: bytes, and what they say. */
const MESSAGES = {
  begin: [
    "'B' 0000000101000000 0000000000002710 000002f8",
    { type: 'begin', commitLsn: 0x101000000n, time: new Date(946684800010), xid: 760 }
  ],
  commit: [
    "'C' 00 0000000101000000 0000000101000030 ffffffffffffd8f0",
    { type: 'commit', flags: 0, commitLsn: 0x101000000n, endLsn: 0x101000030n, time: new Date(946684799990) }
  ],
  origin: ["'O' 0000000000000005 'elsewhere' 00", { type: 'origin', lsn: 5n, name: 'elsewhere' }],
  type: ["'Y' 00004002 'public' 00 'mood' 00", { type: 'type', oid: 16386, schema: 'public', name: 'mood' }],
  'type of the system': ["'Y' 00000019 00 'text' 00", { type: 'type', oid: 25, schema: 'pg_catalog', name: 'text' }],
  insert: [`'I' 00004001 'N' ${ROW}`, { type: 'insert', new: row({ id: 5, name: null }) }],
  'update without a key': [
    `'U' 00004001 'N' 0003 62 00000004 00000005 75 74 00000002 c3a9`,
    { type: 'update', new: row({ id: 5 }) }
  ],
  'update of a key': [
    `'U' 00004001 'K' 0003 74 00000001 '4' 6e 6e 'N' ${ROW}`,
    { type: 'update', key: { id: 4 }, new: row({ id: 5, name: null }) }
  ],
  'update of a row': [
    `'U' 00004001 'O' 0003 74 00000001 '4' 74 00000001 'a' 6e 'N' ${ROW}`,
    { type: 'update', old: row({ id: 4, name: 'a' }, null), new: row({ id: 5, name: null }) }
  ],
  'delete by key': ["'D' 00004001 'K' 0003 74 00000001 '4' 6e 6e", { type: 'delete', key: { id: 4 } }],
  'delete of a row': [`'D' 00004001 'O' ${ROW}`, { type: 'delete', old: row({ id: 5, name: null }) }],
  truncate: ["'T' 00000001 03 00004001", { type: 'truncate', cascade: true, restartIdentity: true }]
};

describe('PgOutput', () => {
  it('decodes the description of a table and keeps it', () => {
    const output = new PgOutput();
    const relation = output.decode(RELATION);
    assert.deepEqual(relation, {
      type: 'relation',
      oid: 16385,
      schema: 'public',
      name: 'users',
      identity: 'default',
      columns: [
        { key: true, name: 'id', typeOid: 23, typeModifier: -1 },
        { key: false, name: 'name', typeOid: 25, typeModifier: -1 },
        { key: false, name: '__proto__', typeOid: 25, typeModifier: 8 }
      ]
    });
    assert.equal(output.relations.get(16385), relation);
    assert.equal(output.decode(hex("'R' 00000001 00 'pg_class' 00 6e 0000")).schema, 'pg_catalog');
  });

  for (const name in MESSAGES) {
    const [digits, expected] = MESSAGES[name];
    it(`decodes: ${name}`, () => {
      const output = decoder();
      const change = output.decode(hex(digits));
      const relation = output.relations.get(16385);
      if (change.relation) assert.equal(change.relation, relation);
      if (change.relations) assert.deepEqual(change.relations, [relation]);
      delete change.relation;
      delete change.relations;
      assert.deepEqual(change, expected);
      for (const key of ['new', 'old']) {
        if (expected[key]) assert.deepEqual(Object.entries(change[key]), Object.entries(expected[key]));
      }
    });

    it(`refuses what is cut short or too long: ${name}`, () => {
      const bytes = hex(digits);
      for (let length = 0; length < bytes.length; length++) {
        assert.throws(() => decoder().decode(bytes.subarray(0, length)), { code: '08P01' }, `${length} bytes`);
      }
      assert.throws(() => decoder().decode(Buffer.concat([bytes, Buffer.alloc(1)])), { code: '08P01' });
    });
  }

  it('decodes values as queries do, and refuses options that it does not know', () => {
    const decoded = decode => {
      const output = new PgOutput({ decode });
      output.decode(RELATION);
      return digits => output.decode(hex(digits)).new;
    };
    const text = `'I' 00004001 'N' ${ROW}`;
    const binary = "'I' 00004001 'N' 0003 62 00000004 00000007 74 00000002 c3a9 6e";
    assert.deepEqual(decoded(true)(text), row({ id: 5, name: null }));
    assert.deepEqual(decoded(true)(binary), row({ id: 7, name: 'é' }, null));
    assert.deepEqual(
      decoded(new Map([[23, (value, { name }) => `${name} ${value}`]]))(text),
      row({ id: 'id 5', name: null })
    );
    assert.deepEqual(decoded(false)(text), row({ id: '5', name: null }));
    const columns = new Map();
    decoded(new Map([[25, (value, column) => columns.set(column.name, column)]]))(text);
    assert.deepEqual(columns.get('__proto__'), {
      name: '__proto__',
      tableOid: 16385,
      tableColumnIndex: 3,
      typeOid: 25,
      typeLen: 0,
      typeModifier: 8,
      binary: 0
    });
    assert.throws(() => new PgOutput({ binary: true }), {
      name: 'TypeError',
      message: 'there is no option binary here; the options are decode'
    });
    assert.throws(() => new PgOutput({ decode: 1 }), TypeError);
    assert.throws(() => new PgOutput({ decode: { mood: String } }), {
      name: 'TypeError',
      message: 'decode has names of types, which pgoutput does not tell: write OIDs'
    });
  });

  it('says what START_REPLICATION takes where a message is not of protocol version 1', () => {
    for (const digits of ["'S' 000002f8 01", "'M' 01 0000000000000007 'prefix' 00 00000000", "'b' 00"]) {
      assert.throws(() => decoder().decode(hex(digits)), {
        message: /of type [SMb]: START_REPLICATION takes proto_version '1', no messages, and a slot without two_phase$/
      });
    }
  });

  it('refuses messages that make no sense', () => {
    for (const digits of [
      "'Z'",
      "'toString'",
      "'I' 00009999 'N' 0000",
      "'I' 00004001 'X' 0003 6e 6e 6e",
      "'I' 00004001 'N' 0002 6e 6e",
      "'I' 00004001 'N' 0003 78 6e 6e",
      "'I' 00004001 'N' 0003 74 ffffffff 6e 6e",
      "'I' 00004001 'N' 0003 74 7fffffff 6e 6e",
      "'D' 00004001 'N' 0003 6e 6e 6e",
      "'T' 7fffffff 00 00004001",
      "'T' ffffffff 00",
      "'R' 00000001 00 00 64 ffff"
    ]) {
      assert.throws(() => decoder().decode(hex(digits)), { name: 'ConnectionError', code: '08P01' }, digits);
    }
  });
});
