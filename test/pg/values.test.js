'use strict';

const assert = require('node:assert/strict');
const { types } = require('../../lib/pg/types');
const { defaults, escapeIdentifier, escapeLiteral, prepareValue } = require('../../lib/pg/values');

/** What is sent for a Date in a time zone. */
function at(text, zone) {
  const before = process.env.TZ;
  process.env.TZ = zone;
  try {
    return prepareValue(new Date(text));
  } finally {
    if (before === undefined) delete process.env.TZ;
    else process.env.TZ = before;
  }
}

describe('Values of quickgres/pg', () => {
  afterEach(() => {
    defaults.parseInputDatesAsUTC = false;
  });

  it('are null, strings and bytes', () => {
    assert.equal(prepareValue(undefined), null);
    assert.equal(prepareValue(null), null);
    assert.equal(prepareValue(1.5), '1.5');
    assert.equal(prepareValue(10n ** 20n), '100000000000000000000');
    assert.equal(prepareValue(false), 'false');
    const bytes = Buffer.from([1, 2]);
    assert.equal(prepareValue(bytes), bytes);
    assert.deepEqual(prepareValue(new Uint16Array([258]).subarray(0, 1)), Buffer.from([2, 1]));
  });

  it('are dates in local time with their offset, or in UTC, before Christ, too', () => {
    assert.equal(at('2020-02-29T12:34:56.789Z', 'America/Lima'), '2020-02-29T07:34:56.789-05:00');
    assert.equal(at('2020-02-29T20:00:00Z', 'Asia/Kolkata'), '2020-03-01T01:30:00.000+05:30');
    assert.equal(
      at('1800-02-28T20:00:00Z', 'Europe/Amsterdam'),
      '1800-02-28T20:17:30.000+00:17:30'.replace('17:30', '17:30')
    );
    assert.equal(at('-000001-06-01T00:00:00Z', 'UTC'), '0002-06-01T00:00:00.000+00:00 BC');
    assert.equal(at('0000-06-01T00:00:00Z', 'UTC'), '0001-06-01T00:00:00.000+00:00 BC');
    assert.equal(at('+012345-06-01T00:00:00Z', 'UTC'), '12345-06-01T00:00:00.000+00:00');
    for (const [zone, last, first] of [
      ['UTC', '275760-09-13T00:00:00.000+00:00', '271822-04-20T00:00:00.000+00:00 BC'],
      ['America/St_Johns', '275760-09-12T21:30:00.000-02:30', '271822-04-19T20:29:08.000-03:30:52 BC'],
      ['Asia/Manila', '275760-09-13T08:00:00.000+08:00', '271822-04-19T08:03:52.000-15:56:08 BC'],
      ['America/Juneau', '275760-09-12T16:00:00.000-08:00', '271822-04-20T15:02:19.000+15:02:19 BC']
    ])
      assert.deepEqual([at(8.64e15, zone), at(-8.64e15, zone)], [last, first]);
    defaults.parseInputDatesAsUTC = true;
    assert.equal(at('2020-02-29T12:34:56.789Z', 'America/Lima'), '2020-02-29T12:34:56.789+00:00');
    assert.throws(() => prepareValue(new Date(NaN)), { name: 'TypeError', message: /invalid Date/ });
  });

  it('are arrays as literals, objects as JSON', () => {
    assert.equal(
      prepareValue([1, null, undefined, 'a "b" \\', [true], Buffer.from('é')]),
      '{"1",NULL,NULL,"a \\"b\\" \\\\",{"true"},"\\\\xc3a9"}'
    );
    assert.equal(prepareValue(['a', , ['c', ,]]), '{"a",NULL,{"c",NULL}}');
    assert.equal(prepareValue([{ a: 'x' }]), '{"{\\"a\\":\\"x\\"}"}');
    assert.equal(prepareValue({ a: [1] }), '{"a":[1]}');
    assert.equal(prepareValue([]), '{}');
    assert.equal(prepareValue([[], [[]]]), '{{},{{}}}'); // as pg
  });

  it('are what toPostgres makes of them, which may not lead in a circle', () => {
    assert.equal(prepareValue({ toPostgres: () => 5 }), '5');
    assert.equal(prepareValue({ toPostgres: prepare => `<${prepare([1])}>` }), '<{"1"}>');
    assert.equal(prepareValue({ toPostgres: () => ({ toPostgres: () => null }) }), null);
    const circle = { toPostgres: () => circle };
    assert.throws(() => prepareValue(circle), /circular reference/);
  });

  it('are prepared by a function that map can call, as pg-cursor does', () => {
    const both = ['a', { toPostgres: prepare => prepare([1, 2]) }];
    assert.deepEqual(both.map(prepareValue), ['a', '{"1","2"}']);
  });

  it('are quoted', () => {
    assert.equal(escapeIdentifier('a"b'), '"a""b"');
    assert.equal(escapeLiteral("it's"), "'it''s'");
    assert.equal(escapeLiteral("\\'"), " E'\\\\'''");
    assert.equal(escapeLiteral(undefined), "''");
  });

  it('are read as numbers where they are an int8 and defaults say parseInt8, large ones, too', () => {
    const read = () => [
      types.getTypeParser(20)('9007199254740991'),
      types.getTypeParser(1016)('{1,NULL,-9007199254740991}')
    ];
    defaults.parseInt8 = true;
    const numbers = read();
    defaults.parseInt8 = false;
    assert.deepEqual(numbers, [9007199254740991, [1, null, -9007199254740991]]);
    assert.deepEqual(read(), ['9007199254740991', ['1', null, '-9007199254740991']]);
  });
});
