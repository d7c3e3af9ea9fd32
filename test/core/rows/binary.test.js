'use strict';

const assert = require('node:assert/strict');
const { SERVER_VERSION } = require('pg-test-fixtures');
const { decoders } = require('../../..');
const pages = require('../../../client-parser/types.js').decoders;
const { connected } = require('../../support');
const { seeded } = require('../../support/kit');

/** Bytes of a value of each type that has a decoder of its own in Node.js: random, or of values that are common. */
const VALUES = {
  650: random => address(random),
  700: random => float(random),
  774: random => bytes(random, 8),
  829: random => bytes(random, 6),
  869: random => address(random),
  1082: random => number(random, 4),
  1083: random => number(random, 8),
  1114: random => number(random, 8),
  1186: random => Buffer.concat([number(random, 8), number(random, 4), number(random, 4)]),
  1266: random => Buffer.concat([number(random, 8), number(random, 4)]),
  1700: random => digits(random),
  2950: random => bytes(random, 16),
  3904: random => range(random, number(random, 4), number(random, 4)),
  3906: random => range(random, digits(random), digits(random)),
  3908: random => range(random, number(random, 8), number(random, 8)),
  3910: random => range(random, number(random, 8), number(random, 8)),
  3912: random => range(random, number(random, 4), number(random, 4)),
  3926: random => range(random, number(random, 8), number(random, 8)),
  4451: random => ranges(random, () => number(random, 4)),
  4532: random => ranges(random, () => digits(random)),
  4533: random => ranges(random, () => number(random, 8)),
  4534: random => ranges(random, () => number(random, 8)),
  4535: random => ranges(random, () => number(random, 4)),
  4536: random => ranges(random, () => number(random, 8))
};

function bytes(random, length) {
  return Buffer.from(
    Array.from({ length }, () => (random.chance(0.2) ? random.pick([0, 127, 128, 255]) : random.below(256)))
  );
}

/** Any number, a small one, or a limit. */
function number(random, size) {
  const any = bytes(random, size);
  if (random.chance(0.1)) return Buffer.alloc(size).fill(255, 1).fill(127, 0, 1); // infinity
  if (random.chance(0.1)) return Buffer.alloc(size).fill(128, 0, 1); // -infinity
  return random.chance(0.7) ? any.fill(random.pick([0, 255]), 0, random.below(size)) : any;
}

function digits(random) {
  const count = random.below(6);
  const value = Buffer.alloc(8 + 2 * count);
  value.writeUInt16BE(count);
  value.writeInt16BE(random.chance(0.9) ? random.below(9) - 4 : 20, 2);
  value.writeUInt16BE(random.pick([0, 0, 0x4000, 0x4000, 0xc000, 0xd000, 0xf000]), 4);
  value.writeUInt16BE(random.chance(0.9) ? random.below(20) : random.below(200), 6);
  for (let i = 0; i < count; i++) value.writeUInt16BE(random.chance(0.7) ? random.below(10000) : 0, 8 + 2 * i);
  return value;
}

function float(random) {
  const value = Buffer.alloc(4);
  value.writeFloatBE(
    random.pick([random.below(1e6) / 100, random.below(1e9) / 1e6, 2 ** random.below(30), -random.below(1e8) / 8])
  );
  return random.chance(0.3) ? bytes(random, 4) : value;
}

function address(random) {
  if (random.chance(0.5)) return Buffer.from([2, random.below(33), random.below(2), 4, ...bytes(random, 4)]);
  const value = Buffer.from([3, random.below(129), random.below(2), 16, ...bytes(random, 16)]);
  const from = 4 + 2 * random.below(8);
  if (random.chance(0.5)) value.fill(0, from, Math.min(20, from + 2 * random.below(9)));
  if (random.chance(0.3)) value.fill(0, 4, 14);
  return random.chance(0.3) ? value.fill(255, 14, 16) : value;
}

const item = value => Buffer.concat([Buffer.from([0, 0, 0, value.length]), value]);

function range(random, lower, upper) {
  const flags = random.chance(0.1) ? 1 : random.below(16) * 2;
  return Buffer.concat([
    Buffer.from([flags]),
    flags & 9 ? Buffer.alloc(0) : item(lower),
    flags & 17 ? Buffer.alloc(0) : item(upper)
  ]);
}

function ranges(random, bound) {
  const count = random.below(4);
  const all = Array.from({ length: count }, () => item(range(random, bound(), bound())));
  return Buffer.concat([Buffer.from([0, 0, 0, count]), ...all]);
}

function attempt(decode, value) {
  try {
    return decode(value, 0, value.length);
  } catch (error) {
    return error.message.includes('malformed');
  }
}

describe('Decoders of binary values in Node.js', () => {
  for (const oid of Object.keys(VALUES)) {
    it(`make what those of pages make of ${oid}, and take no other bytes`, () => {
      const random = seeded(Number(oid));
      for (let i = 0; i < 3000; i++) {
        let value = VALUES[oid](random);
        if (random.chance(0.05)) value = value.subarray(0, random.below(value.length + 1));
        assert.deepEqual(attempt(decoders[oid][1], value), attempt(pages[oid][1], value), value.toString('hex'));
      }
    });
  }

  it('make the same values of whole rows, of single ones and of arrays, with NULLs and values without a fast way in between', async () => {
    const client = await connected({ TimeZone: 'UTC' });
    const text = `SELECT CASE WHEN n % 7 > 0 THEN md5(n::text)::uuid END AS a, n * interval '1.5 s' AS b, (n * 1e30)::numeric AS c,
      CASE WHEN n % 5 > 0 THEN n / 3.0 ELSE 'NaN' END AS d, '2020-01-01'::timestamp + n * interval '1000 day 1 ms' AS e, n AS f,
      ARRAY['1999-01-01'::date + n, NULL] AS g, ARRAY[ARRAY[n], ARRAY[-n]] AS h, '::1'::inet + n AS i FROM generate_series(1, 3000) n`;
    const [one, other] = [await client.query(text), await client.query(text, [], { format: 1 })];
    assert.deepEqual(other.objects, one.objects);
    assert.deepEqual(other.arrays, one.arrays);
    assert.deepEqual(
      [...other.structs].map(row => row.toObject()),
      one.objects
    );
    assert.deepEqual(
      other.structs.map(row => row.e),
      one.objects.map(({ e }) => e)
    );
  });

  it("make the server's text of the longest values that are written, and of the limits of their types", async () => {
    const client = await connected({ TimeZone: 'UTC' });
    const multirange = text => (SERVER_VERSION >= 14 ? text : 'NULL');
    const wide = first => `'${first}${'0'.repeat(83)}.${'0'.repeat(98)}1'::numeric`;
    const text = `SELECT numrange(${wide(1)}, ${wide(2)}) AS a,
      ${multirange(`nummultirange(numrange(NULL, ${wide(-2)}), numrange(${wide(1)}, ${wide(2)}), numrange(${wide(3)}, NULL))`)} AS b,
      ${multirange('nummultirange(numrange(1, 2.5), numrange(3, 4.25), numrange(5, 6))')} AS bb,
      tsrange('4714-11-24 00:00:00 BC', '294276-12-31 23:59:59.999999') AS c, tstzrange('infinity', 'infinity', '[]') AS d,
      ${multirange("tsmultirange(tsrange('-infinity', '0001-12-31 23:59:59.000001 BC'), tsrange('9999-12-31', '10000-01-01'))")} AS e,
      int8range('-9223372036854775808', 9223372036854775807) AS f, int8range(-9007199254740991, 4294967296) AS g,
      '-178000000 years -11 mons -2147483648 days -${SERVER_VERSION >= 15 ? 2562047788 : 2147483647}:00:54.775807'::interval AS h,
      '24:00:00-15:59:59'::timetz AS i, '5874897-12-31'::date AS j, '4714-11-24 BC'::date AS k, '99999-12-31'::date AS l,
      '100000-01-01'::timestamp AS m, '0001-01-01'::date AS n, '0001-12-31 BC'::date AS o, '2000-02-29 00:00:00.1'::timestamp AS p`;
    const [one, other] = [await client.query(text), await client.query(text, [], { format: 1 })];
    const [struct] = other.structs;
    assert.deepEqual(struct.toObject(), one.objects[0]);
    assert.deepEqual(other.objects, one.objects);
  });

  it("make the same values when a decoder of the caller's reads another result meanwhile", async () => {
    const client = await connected();
    const from = 'FROM generate_series(1, 50) AS n';
    const other = await client.query(`SELECT '2020-01-01'::date + n AS d ${from}`, [], { format: 1 });
    const decode = {
      ...decoders,
      26: bytes => {
        const n = bytes.readUInt32BE(0);
        other._objects = undefined; // they are made again
        return other.objects[n - 1].d;
      }
    };
    const text = `SELECT n::oid, '2020-01-01'::date + n AS d, n * interval '1 day' AS i ${from}`;
    const { objects } = await client.query(text, [], { format: 1, decode });
    for (const [index, { n, d, i }] of objects.entries())
      assert.deepEqual([n, i], [d, index > 0 ? `${index + 1} days` : '1 day']);
  });

  it('refuse rows whose columns are longer than they are', async () => {
    const client = await connected();
    const result = await client.query("SELECT '00000000-0000-0000-0000-000000000000'::uuid AS a", [], { format: 1 });
    result._first.bytes.writeInt32BE(1000, result._first.start + 7);
    assert.throws(() => result.objects, { code: '08P01' });
  });
});
