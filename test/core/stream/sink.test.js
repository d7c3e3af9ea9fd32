'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const http = require('node:http');
const { PassThrough, Writable } = require('node:stream');
const { setImmediate: turn } = require('node:timers/promises');
const { Client } = require('../../..');
const { Sink, protocol } = require('../../../lib/core/stream/sink');
const { connected, proxied, faked, hex, dataRow, ANSWER } = require('../../support');
const { collector, failing, frames, slow, typesOf } = require('../../support/kit');

/** An object with nothing but write, which collects packets. */
const gathering = () => ({
  packets: [],
  write(packet) {
    this.packets.push(packet);
  }
});

/** A stream that keeps what it is given without copying it. */
const keeping = () => collector({ copy: false });

/** The types of the messages in a stream of them, a run of one type shown once; checks every length. */
function types(bytes) {
  const all = [...frames(bytes)];
  assert.equal(
    all.reduce((sum, frame) => sum + frame.bytes.length, 0),
    bytes.length
  );
  return typesOf(bytes).replace(/(.)\1+/g, '$1');
}

const PEOPLE = "SELECT * FROM (VALUES (1, 'Ada'), (2, NULL)) people (id, name)";

describe('A Node stream', () => {
  it('gets the messages of the result as they came, described first, with the command last', async () => {
    const client = await connected();
    for (let i = 0; i < 2; i++) {
      const stream = keeping();
      assert.equal(await client.query(PEOPLE, [], Client.STRING, true, stream), stream);
      assert.deepEqual(
        stream.bytes,
        hex(`
        54 00000032 0002 'id' 00 00000000 0000 00000017 0004 ffffffff 0000
          'name' 00 00000000 0000 00000019 ffff ffffffff 0000
        44 00000012 0002 00000001 '1' 00000003 'Ada'
        44 0000000f 0002 00000001 '2' ffffffff
        43 0000000d 'SELECT 2' 00`)
      );
      assert.equal(stream.chunks.length, 1, 'a small result is one piece');
      assert.equal(stream.writableEnded, false, "the stream is the caller's to end");
    }
  });

  it('gets the same bytes as packets would be, in large slices', async () => {
    const client = await connected();
    const text = "SELECT i, md5(i::text), repeat('x', i % 200) FROM generate_series(1, 50000) i";
    for (const format of [Client.STRING, Client.BINARY]) {
      const packets = (await client.query(text, [], format, true, gathering())).packets;
      const stream = await client.query(text, [], format, true, keeping());
      await client.query(text, [], format); // what would overwrite memory that was only lent
      assert.equal(Buffer.compare(stream.bytes, Buffer.concat(packets)), 0);
      // The server sends 8 kB at a time, and how many of these one read takes is the system's choice.
      assert.ok(stream.chunks.length < 50_000 / 10, `${stream.chunks.length} pieces of 50,000 rows`);
    }
  });

  it('gets rows of any length', async () => {
    const client = await connected();
    const text = "SELECT repeat('x', (1000 * 1.7 ^ i)::int) FROM generate_series(0, 16) i";
    const stream = await client.query(text, [], Client.STRING, true, keeping());
    const { rows } = await client.query(text);
    assert.equal(types(stream.bytes), 'TDC');
    const expected = [rows[0].rowParser.buffer, ...rows.map(row => row.rowBuffer), hex("43 0000000e 'SELECT 17' 00")];
    assert.equal(Buffer.compare(stream.bytes, Buffer.concat(expected)), 0);
  });

  it('gets bytes that client-parser reads without any earlier state, in text and in binary', async () => {
    const { rows: parse } = await import('quickgres/client-parser');
    const client = await connected();
    const text = 'SELECT id, name, email::int AS number, NULL AS nothing FROM users ORDER BY email::int';
    const { rows } = await client.query(text); // cached from now on
    for (const format of [Client.STRING, Client.BINARY]) {
      const stream = new PassThrough();
      const query = client.query(text, [], format, true, stream).then(() => stream.end());
      let count = 0;
      for await (const row of parse(stream, { decode: true })) {
        const { id, name, number } = rows[count++].toObject();
        assert.deepEqual(row, { id, name, number: Number(number), nothing: null });
      }
      await query;
      assert.equal(count, 1000);
    }
  });

  it('may be an HTTP response', async () => {
    const { rows: parse } = await import('quickgres/client-parser');
    const client = await connected();
    const server = http
      .createServer((request, response) => {
        response.setHeader('content-type', 'application/x-postgresql');
        client
          .query('SELECT i, $1::text AS t FROM generate_series(1, 100000) i', ['é'], Client.STRING, true, response)
          .then(
            () => response.end(),
            error => response.destroy(error)
          );
      })
      .listen(0, '127.0.0.1');
    await once(server, 'listening');
    let next = 1;
    for await (const row of parse(fetch(`http://127.0.0.1:${server.address().port}/`))) {
      if (row.i !== next++ || row.t !== 'é') assert.fail(`row ${next}: ${row}`);
    }
    assert.equal(next, 100_001);
    server.closeAllConnections();
    await new Promise(resolve => server.close(resolve));
  });

  it('gets the results of several queries one after another', async () => {
    const client = await connected();
    const stream = keeping();
    await Promise.all(
      ['SELECT 1', 'BEGIN', 'SELECT 2', 'ROLLBACK', '', 'COPY (SELECT 1) TO STDOUT'].map(text =>
        client.query(text, [], Client.STRING, true, stream)
      )
    );
    assert.equal(types(stream.bytes), 'TDC' + 'TDC' + 'IHdcC');
  });

  it('that asks to wait stops the reading, and memory stays bounded', async () => {
    const { client, wire } = await proxied();
    const stream = slow({ highWaterMark: 1000 });
    const size = 60_000_000;
    const query = client.query(
      "SELECT repeat('x', 100000) FROM generate_series(1, 600)",
      [],
      Client.STRING,
      true,
      stream
    );
    const other = client.query('SELECT 1');
    let before;
    do {
      // until nothing arrives any more
      before = wire.stats.bytes.toClient;
      await new Promise(resolve => setTimeout(resolve, 50));
    } while (wire.stats.bytes.toClient !== before || stream.taken === 0);
    // What has passed the proxy fills the sockets' buffers, which are the kernel's.
    assert.ok(before < size / 2, `${before} bytes arrived`);
    assert.ok(stream.writableLength < 1_400_000, `${stream.writableLength} bytes wait in the stream`);
    stream.hurry();
    await query;
    assert.equal((await other).rows[0][0], 1);
    stream.end();
    await once(stream, 'finish');
    assert.ok(stream.taken > size);
  });

  it('that never takes anything again does not hold up what is behind a result that has come', async () => {
    const client = await connected();
    const stuck = slow({ highWaterMark: 1 });
    const [, other] = await Promise.all([
      client.query('SELECT 1', [], Client.STRING, true, stuck),
      client.query('SELECT 2')
    ]);
    assert.equal(other.rows[0][0], 2);
    stuck.destroy();
  });

  it('that is destroyed meanwhile fails its query, and the connection goes on', async () => {
    const client = await connected();
    for (const how of ['destroy', 'error', 'end']) {
      let pieces = 0;
      const stream = new Writable({
        highWaterMark: 1000,
        write(chunk, encoding, done) {
          if (++pieces < 3) return done();
          if (how === 'end') {
            stream.end();
            done();
          } else if (how === 'destroy') stream.destroy();
          else done(new Error('disk full'));
        }
      });
      stream.on('error', () => {});
      const [query, other] = await Promise.allSettled([
        client.query("SELECT repeat('x', 10000) FROM generate_series(1, 1000)", [], Client.STRING, true, stream),
        client.query('SELECT 1')
      ]);
      assert.equal(query.status, 'rejected', how);
      assert.ok(query.reason instanceof Error && !(query.reason instanceof TypeError), `${how}: ${query.reason}`);
      assert.equal(other.value.rows[0][0], 1, how);
    }
  });

  it('that fails has its error reported by the query, also where nobody listens to it', async () => {
    const client = await connected();
    for (const rows of [1, 100000]) {
      for (const listens of [false, true]) {
        const full = new Error('disk full');
        const stream = failing(full);
        if (listens) stream.on('error', () => {});
        const [query, other] = await Promise.allSettled([
          client.query("SELECT repeat('x', 100) FROM generate_series(1, $1::int)", [rows], { stream }),
          client.query('SELECT 1')
        ]);
        assert.equal(query.reason, full, `${rows} rows`);
        assert.equal(other.value.rows[0][0], 1);
      }
    }
    const taking = keeping();
    await Promise.all([1, 2, 3].map(() => client.query('SELECT 1', [], { stream: taking })));
    assert.equal(taking.listenerCount('error'), 1); // until it has closed
  });

  it('that fails is reported by getResults', async () => {
    const client = await connected();
    const full = new Error('disk full');
    client.startQuery('SELECT generate_series(1, 10)');
    await assert.rejects(client.getResults(3, failing(full)), full);
    assert.equal((await client.getResults(2)).rows.length, 2);
    await client.sync();
  });

  it('that is destroyed has its query cancelled, where nothing is behind it', async () => {
    const { client, wire } = await proxied();
    const stream = slow().on('error', () => {});
    const query = client.query("SELECT repeat('x', 10000) FROM generate_series(1, 5000)", [], { stream });
    while (stream.writableLength === 0) await new Promise(setImmediate);
    const before = wire.stats.bytes.toClient;
    stream.destroy();
    await assert.rejects(query, {
      name: 'AbortError',
      message: 'the target was closed before it had taken the result'
    });
    assert.equal((await client.query('SELECT 7 AS a')).rows[0].a, 7);
    assert.ok(wire.stats.bytes.toClient - before < 25e6, `${wire.stats.bytes.toClient - before} bytes`);
  });

  it('that is none, but has a `pipe`, is rejected', async () => {
    const client = await connected();
    const message = 'the target must be a writable stream, not an object';
    await assert.rejects(client.query('SELECT 1', [], { stream: { pipe: true, write() {} } }), {
      name: 'TypeError',
      message
    });
  });

  it('that is closed before fails its query, and the connection goes on', async () => {
    const client = await connected();
    const ended = keeping();
    ended.end();
    const destroyed = keeping();
    destroyed.destroy();
    for (const stream of [ended, destroyed]) {
      await assert.rejects(client.query('SELECT 1', [], Client.STRING, true, stream), Error);
    }
    assert.equal((await client.query('SELECT 1')).rows[0][0], 1);
  });

  it('gets no more than whole messages of a query that fails on the way', async () => {
    const client = await connected();
    const stream = keeping();
    const text = "SELECT repeat('x', 1000), 1 / (500 - i) FROM generate_series(1, 1000) i";
    await assert.rejects(client.query(text, [], Client.STRING, true, stream), { code: '22012' });
    await new Promise(setImmediate);
    assert.match(types(stream.bytes), /^(TD)?$/);
    assert.equal((await client.query('SELECT 1')).rows[0][0], 1);
  });

  it('leaves no listeners behind', async () => {
    const client = await connected();
    const stream = new Writable({
      highWaterMark: 10,
      write(chunk, encoding, done) {
        setImmediate(done);
      }
    });
    const listeners = () => stream.eventNames().map(name => [name, stream.listenerCount(name)]);
    const before = listeners();
    await client.query('SELECT 1', [], { stream });
    assert.deepEqual([stream.listenerCount('error'), stream.listenerCount('close')], [1, 1]); // until it has closed
    for (let i = 0; i < 30; i++) {
      await client.query("SELECT repeat('x', 10000) FROM generate_series(1, 20)", [], Client.STRING, true, stream);
    }
    await new Promise(setImmediate);
    if (stream.writableNeedDrain) await once(stream, 'drain');
    assert.deepEqual([stream.listenerCount('error'), stream.listenerCount('close')], [1, 1]);
    stream.destroy();
    await once(stream, 'close');
    assert.deepEqual(listeners(), before);
  });
});

describe('Sink', () => {
  it('writes the end of a message with what comes behind it, not as a piece of its own', async () => {
    const pieces = [];
    const target = { queued: 0, write: piece => pieces.push(piece.length), wait() {} };
    const sink = new Sink(target, protocol);
    const pipeline = { head: { holdUntilOver() {}, next: null }, results: make => make() };
    sink.start(null, 0, pipeline);
    const chunk = Buffer.alloc(65536);
    for (let i = 0; i < 20; i++) {
      // as two reads of the socket at a time come
      for (const length of [166, 65400, 166, 65400]) sink.receiveData(chunk, 0, length, 1, false);
      sink.flushLater();
      await turn();
    }
    assert.deepEqual(
      pieces.filter(length => length < 65400),
      []
    );
    assert.equal(pieces.length, 20);
  });

  it('leaves what the next result writes to the block of the connection alone, whenever it is over', async () => {
    const pieces = [[], []];
    let backlog;
    const pipeline = { socket: null, head: { holdUntilOver() {}, next: null }, results: make => (backlog ??= make()) };
    const [first, second] = pieces.map(
      list => new Sink({ queued: 0, write: piece => list.push(Buffer.from(piece)) }, protocol)
    );
    const fill = (sink, value, length) => sink.receiveData(Buffer.alloc(length, value), 0, length, 1, false);
    const command = hex("43 0000000d 'SELECT 1' 00");
    first.start(null, 0, pipeline);
    fill(first, 'a', 50_000);
    first.flushLater(); // this read is over
    fill(first, 'b', 120_000);
    first.receive(command[0], command, 0, command.length);
    second.start(null, 0, pipeline);
    fill(second, 'c', 10_000);
    await turn();
    second.receive(command[0], command, 0, command.length);
    const all = [first, second].map(({ last }, i) => Buffer.concat([...pieces[i], last]).toString());
    const end = command.toString();
    assert.ok(all[0] === 'a'.repeat(50_000) + 'b'.repeat(120_000) + end);
    assert.ok(all[1] === 'c'.repeat(10_000) + end);
  });

  it('pauses nobody for what is left to be written when its query is over', () => {
    const told = [];
    const pipeline = {
      socket: {
        pause() {
          told.push('pause');
        },
        resume() {
          told.push('resume');
        }
      },
      head: { holdUntilOver() {}, next: null },
      results: make => make()
    };
    const sink = new Sink({ queued: Infinity, write: () => false, wait() {} }, protocol, 0);
    sink.start(null, 0, pipeline);
    const row = dataRow('a');
    sink.receiveData(row, 0, row.length, 1, false);
    sink.flush();
    sink.drop();
    assert.deepEqual(told, ['pause', 'resume']);
    sink.receiveData(row, 0, row.length, 1, false);
    sink.flush();
    assert.deepEqual(told, ['pause', 'resume']);
  });
});

describe('The result of a request that is sent again, since its statement was stale', () => {
  it('is held to the pace of its target as the first one is', () => {
    const told = [];
    const socket = { pause: () => told.push('pause'), resume: () => told.push('resume') };
    let backlog;
    const pipeline = { socket, head: { holdUntilOver() {}, next: null }, results: make => (backlog ??= make()) };
    const sink = new Sink({ queued: Infinity, write: () => false, wait() {} }, protocol, 0);
    const row = dataRow('a');
    sink.start(null, 0, pipeline);
    sink.drop();
    sink.start(null, 0, pipeline);
    sink.receiveData(row, 0, row.length, 1, false);
    sink.flush();
    assert.deepEqual(told, ['pause']);
    sink.drop();
    assert.deepEqual(told, ['pause', 'resume']);
  });
});

describe('Bytes of a hostile server', () => {
  it('are passed on only inside of whole messages', async () => {
    const stream = keeping();
    const client = await faked(async conversation => {
      await conversation.request();
      conversation.say(ANSWER.described('a'), dataRow('1'), hex("44 00000002 'secret'"));
    });
    await assert.rejects(client.query('SELECT a', [], Client.STRING, true, stream), { code: '08P01' });
    assert.doesNotMatch(stream.bytes.toString('latin1'), /secret/);
  });
});
