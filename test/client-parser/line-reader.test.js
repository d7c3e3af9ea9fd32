'use strict';

const assert = require('node:assert/strict');
const { connected } = require('../support');

const ROWS = [
  { id: 1, name: 'Ada "✓" \u2028' },
  { id: 2, name: null },
  { id: 3, name: '🐘'.repeat(50) }
];
const LINES = Buffer.from(ROWS.map(row => `${JSON.stringify(row)}\n`).join(''));

/** A response, as fetch gives it, with these chunks. */
const answer = (chunks, type = 'application/x-ndjson', fail) =>
  new Response(
    new ReadableStream({
      pull(controller) {
        if (chunks.length > 0) controller.enqueue(Uint8Array.from(chunks.shift()));
        else if (fail) controller.error(fail);
        else controller.close();
      }
    }),
    { headers: { 'content-type': type } }
  );

describe('client-parser, rows() of newline-delimited JSON', () => {
  let rows;
  before(async () => {
    ({ rows } = await import('../../client-parser/index.js'));
  });

  async function collect(source, options) {
    const list = [];
    for await (const row of rows(source, options)) list.push(row);
    return list;
  }

  it('gives the objects, wherever the bytes are cut', async () => {
    for (let i = 0; i <= LINES.length; i++) {
      assert.deepEqual(await collect(answer([LINES.subarray(0, i), LINES.subarray(i)])), ROWS);
    }
    assert.deepEqual(await collect(answer(Array.from(LINES, byte => [byte]))), ROWS);
  });

  it('knows it by the content type, of a Blob by its type', async () => {
    for (const type of ['application/x-ndjson', 'application/x-ndjson; charset=utf-8', 'application/ndjson']) {
      assert.deepEqual(await collect(answer([LINES], type)), ROWS);
      assert.deepEqual(await collect(new Blob([LINES], { type })), ROWS);
    }
    await assert.rejects(collect(answer([LINES], 'application/json')), { name: 'ProtocolError' });
    await assert.rejects(collect(new Blob([LINES])), { name: 'ProtocolError' });
  });

  it('takes a last line without an end, empty lines, and ends as Windows has them', async () => {
    assert.deepEqual(await collect(answer([LINES.subarray(0, -1)])), ROWS);
    assert.deepEqual(await collect(answer([Buffer.from('\r\n{"a":1}\r\n\n{"a":2}\r\n')])), [{ a: 1 }, { a: 2 }]);
    assert.deepEqual(await collect(answer([])), []);
  });

  it('gives rows as they come, in batches too', async () => {
    const source = rows(answer([LINES.subarray(0, 60), LINES.subarray(60)]));
    const batches = [];
    for await (const batch of source.batches()) batches.push(batch.length);
    assert.deepEqual(batches, [2, 1]);
    assert.equal(source.bytes, LINES.length);
    assert.equal(source.columns, undefined);
    assert.equal(source.cmd, undefined);
  });

  it('throws, after the rows that came before, a ProtocolError for a line that is none or is cut off', async () => {
    for (const bytes of [
      Buffer.concat([LINES, Buffer.from('{"a":\n{}\n')]),
      Buffer.concat([LINES, LINES.subarray(0, 9)])
    ]) {
      const list = [];
      await assert.rejects(
        async () => {
          for await (const row of rows(answer([bytes]))) list.push(row);
        },
        { name: 'ProtocolError', message: 'no JSON line', code: '08P01' }
      );
      assert.deepEqual(list, ROWS);
    }
  });

  it('throws what the source throws', async () => {
    const lost = new TypeError('the network has gone');
    const list = [];
    await assert.rejects(async () => {
      for await (const row of rows(answer([LINES], undefined, lost))) list.push(row);
    }, lost);
    assert.deepEqual(list, ROWS);
  });

  it('is linear in a long line that comes in many chunks', async function () {
    this.timeout(20000);
    const row = { a: 'x'.repeat(2e7) };
    const bytes = Buffer.from(JSON.stringify(row));
    const chunks = Array.from({ length: 20000 }, (_, i) => bytes.subarray(i * 1001, (i + 1) * 1001));
    assert.deepEqual(await collect(answer(chunks)), [row]);
  });

  it('reads what queryTo writes', async () => {
    const client = await connected();
    const { readable, writable } = new TransformStream();
    const text =
      "SELECT i AS id, repeat('\u2028\n\"', i % 90) AS name, ARRAY[i, NULL] AS list FROM generate_series(1, 5000) i";
    const [list] = await Promise.all([
      collect(new Response(readable, { headers: { 'content-type': 'application/x-ndjson' } })),
      client.queryTo(writable, text, [], { as: 'ndjson' })
    ]);
    assert.deepEqual(
      list,
      Array.from({ length: 5000 }, (_, i) => ({
        id: i + 1,
        name: '\u2028\n"'.repeat((i + 1) % 90),
        list: [i + 1, null]
      }))
    );
  });
});
