'use strict';

const assert = require('node:assert/strict');
const { PassThrough } = require('node:stream');
const { Client, RowReader } = require('../../..');
const { receiverFor, PacketReceiver } = require('../../../lib/core/stream/packets');
const { Sink } = require('../../../lib/core/stream/sink');
const { connected, hex } = require('../../support');

/** An object with nothing but write, which collects packets. */
const collector = () => ({
  packets: [],
  write(packet) {
    this.packets.push(packet);
  }
});

const PEOPLE = "SELECT * FROM (VALUES (1, 'Ada'), (2, NULL)) people (id, name)";

describe('A receiver with only write', () => {
  it('gets packets one by one, described first, with the command last', async () => {
    const client = await connected();
    for (let i = 0; i < 2; i++) {
      // the second time from the cache
      const receiver = collector();
      assert.equal(await client.query(PEOPLE, [], Client.STRING, true, receiver), receiver);
      assert.deepEqual(receiver.packets, [
        hex(
          "54 00000032 0002 'id' 00 00000000 0000 00000017 0004 ffffffff 0000" +
            "'name' 00 00000000 0000 00000019 ffff ffffffff 0000"
        ),
        hex("44 00000012 0002 00000001 '1' 00000003 'Ada'"),
        hex("44 0000000f 0002 00000001 '2' ffffffff"),
        hex("43 0000000d 'SELECT 2' 00")
      ]);
    }
  });

  it('gets the format of the columns as it is', async () => {
    const client = await connected();
    await client.query(PEOPLE);
    const receiver = collector();
    await client.query(PEOPLE, [], Client.BINARY, true, receiver);
    assert.deepEqual(
      receiver.packets[0],
      hex(
        "54 00000032 0002 'id' 00 00000000 0000 00000017 0004 ffffffff 0001" +
          "'name' 00 00000000 0000 00000019 ffff ffffffff 0001"
      )
    );
    assert.deepEqual(receiver.packets[1], hex("44 00000015 0002 00000004 00000001 00000003 'Ada'"));
    assert.equal(receiver.binary, Client.BINARY);
    assert.deepEqual(receiver.rowParser.columnNames, ['id', 'name']);
  });

  it('owns its packets', async () => {
    const client = await connected();
    const receiver = collector();
    const text = 'SELECT i, md5(i::text) FROM generate_series(1, 20000) i';
    await client.query(text, [], Client.STRING, true, receiver);
    const { rows } = await client.query(text);
    await client.query(text, [], Client.BINARY);
    assert.equal(receiver.packets.length, 20_002);
    for (let i = 0; i < 20_000; i++) {
      if (Buffer.compare(receiver.packets[i + 1], rows[i].rowBuffer) !== 0) assert.fail(`row ${i}`);
    }
  });

  it('gets an empty query, a command without rows, and a COPY', async () => {
    const client = await connected();
    const receive = async text => (await client.query(text, [], Client.STRING, true, collector())).packets;
    assert.deepEqual(await receive(''), [hex('49 00000004')]);
    assert.deepEqual(await receive('BEGIN'), [hex("43 0000000a 'BEGIN' 00")]);
    assert.deepEqual(await receive('COPY (SELECT 1) TO STDOUT'), [
      hex('48 00000009 00 0001 0000'),
      hex("64 00000006 '1' 0a"),
      hex('63 00000004'),
      hex("43 0000000b 'COPY 1' 00")
    ]);
    await client.query('ROLLBACK');
  });

  it('gets the rows of a portal', async () => {
    const client = await connected();
    client.startQuery('SELECT generate_series(1, 3)');
    const kinds = [];
    while (client.inQuery) {
      const { packets } = await client.getResults(2, collector());
      kinds.push(packets.map(packet => String.fromCharCode(packet[0])).join(''));
    }
    assert.deepEqual(kinds, ['TDDs', 'TDC']);
  });

  it('that throws fails its query and no other', async () => {
    const client = await connected();
    let calls = 0;
    const error = new Error('cannot take it');
    const [failed, other] = await Promise.allSettled([
      client.query(PEOPLE, [], Client.STRING, true, {
        write() {
          if (++calls === 2) throw error;
        }
      }),
      client.query('SELECT 1')
    ]);
    assert.equal(failed.reason, error);
    assert.equal(calls, 2, 'nothing is written after that');
    assert.equal(other.value.rows[0][0], 1);
  });

  it('gets what came before an error, and the query rejects', async () => {
    const client = await connected();
    const receiver = collector();
    await assert.rejects(
      client.query('SELECT 1 / (3 - i) FROM generate_series(1, 5) i', [], Client.STRING, true, receiver),
      { code: '22012' }
    );
    assert.deepEqual(receiver.packets.map(packet => String.fromCharCode(packet[0])).join(''), 'TDD');
  });
});

describe('receiverFor', () => {
  it('gives each kind of target its receiver', () => {
    const reader = new RowReader();
    class Own extends RowReader {
      write(packet) {
        super.write(packet);
      }
    }
    assert.equal(receiverFor(reader), reader);
    assert.ok(receiverFor(new Own()) instanceof PacketReceiver);
    assert.ok(receiverFor({ write() {} }) instanceof PacketReceiver);
    assert.ok(receiverFor(new PassThrough()) instanceof Sink);
    assert.ok(receiverFor(process.stdout) instanceof Sink);
  });

  it('refuses what cannot be written to', () => {
    for (const stream of [null, {}, 1, 'stdout', { write: 'no' }, Symbol('s')]) {
      assert.throws(() => receiverFor(stream), {
        name: 'TypeError',
        message: /^stream must be a RowReader, a writable/
      });
    }
  });
});
