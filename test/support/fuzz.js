'use strict';

// Random and mutated bytes for everything that reads the server's. As a script it goes on for long:
//   node test/support/fuzz.js [seconds=600] [seed]
// A failure prints its seed; given as the second argument, it is the first to be tried.

const assert = require('node:assert/strict');
const { Duplex } = require('node:stream');
const { Client, RowReader, RowParser, ConnectionError, PostgresError } = require('../..');
const messages = require('../../lib/core/protocol/messages');
const { FrameReader } = require('../../lib/core/protocol/reader');
const { frames, seeded } = require('./kit');
const { textOf } = require('./model');

if (require.main === module) Object.assign(globalThis, { after() {}, afterEach() {} }); // hooks that support.js sets
const { GREETING, message, int16, rowDescription, dataRow, commandComplete, ANSWER } = require('.');

/** Around what is decoded lie these bytes, which must not be seen in anything that comes of it. */
const SECRET = 'S3cr3t!\0';

/** One case must not take longer, in milliseconds. */
const CASE = 2000;

const bytes = (random, length) => Buffer.from(Array.from({ length }, () => random.below(256)));

/** Bytes that are a little wrong: flipped, cut, doubled, moved, or with another length word. */
function mutate(random, buffer, times = 1 + random.below(4)) {
  for (; times > 0; times--) {
    const at = random.below(buffer.length + 1);
    const some = random.below(Math.min(20, buffer.length - at + 1));
    const rest = buffer.subarray(at);
    switch (random.below(8)) {
      case 0:
        buffer = Buffer.concat([buffer.subarray(0, at), bytes(random, random.below(8)), rest]);
        break;
      case 1:
        buffer = Buffer.concat([buffer.subarray(0, at), rest.subarray(some)]);
        break;
      case 2:
        buffer = Buffer.concat([buffer.subarray(0, at + some), rest]);
        break;
      case 3:
        buffer = Buffer.from(buffer.subarray(0, at));
        break;
      case 4:
      case 5: {
        buffer = Buffer.from(buffer);
        if (at < buffer.length) buffer[at] = random.pick([0, 1, 127, 128, 255, random.below(256)]);
        break;
      }
      default:
        buffer = Buffer.from(buffer);
        if (at + 4 <= buffer.length) {
          buffer.writeInt32BE(
            random.pick([0, 1, 3, 4, 5, -1, -2, 2 ** 31 - 1, -(2 ** 31), 2 ** 30, random.below(100), 65536]),
            at
          );
        }
    }
  }
  return buffer;
}

/** A message in the middle of secrets; its length word is right, as the frame reader sees to. */
function amongSecrets(random, type, body) {
  const before = Buffer.from(SECRET.repeat(random.below(5)));
  const framed = message(type, body);
  const start = before.length;
  return { buf: Buffer.concat([before, framed, Buffer.from(SECRET.repeat(20))]), start, end: start + framed.length };
}

/** Runs a decoder that may refuse its bytes, but in no other way than it says. */
function refusing(work, ...classes) {
  try {
    return work();
  } catch (error) {
    if (error.code !== '08P01' && !classes.some(each => error instanceof each)) throw error;
    return undefined;
  }
}

/** Whether anything secret is in a value. */
function keepsSecrets(value) {
  const text = JSON.stringify(value, (key, each) =>
    typeof each === 'bigint' ? String(each) : each instanceof Uint8Array ? Buffer.from(each).toString('latin1') : each
  );
  assert.ok(text === undefined || !text.includes(SECRET.slice(0, 4)), `${text} shows bytes of another message`);
}

const text = (random, length = random.below(12)) => Buffer.from(textOf(random).slice(0, length).replace(/\0/g, ''));
const name = random => random.pick(['a', 'id', 'name', '__proto__', 'toObject', '0', 'constructor', 'é']);

/** Bodies of small messages. */
const BODIES = {
  decodeFields: random =>
    Buffer.concat([
      ...Array.from({ length: random.below(6) }, () =>
        Buffer.concat([Buffer.from(random.pick([...'SVCMDHPpqWstcdnFLRx'])), text(random), Buffer.alloc(1)])
      ),
      Buffer.alloc(1)
    ]),
  decodeParameterStatus: random => Buffer.concat([text(random), Buffer.alloc(1), text(random), Buffer.alloc(1)]),
  decodeNotification: random =>
    Buffer.concat([bytes(random, 4), text(random), Buffer.alloc(1), text(random), Buffer.alloc(1)]),
  decodeCommandComplete: random =>
    Buffer.from(`${random.pick(['SELECT 5', 'INSERT 0 1', 'CREATE TABLE', 'x y z 3', '', ' ', '9'])}\0`),
  decodeCopyResponse: random => {
    const count = random.below(5);
    return Buffer.concat([
      Buffer.from([random.below(3)]),
      int16(count),
      ...Array.from({ length: count }, () => int16(random.below(2)))
    ]);
  }
};

/** A row's columns. */
const columns = random => Array.from({ length: random.pick([0, 1, 2, 3, 14]) }, () => name(random));
const rowOf = (random, names) => dataRow(...names.map(() => (random.chance(0.2) ? null : text(random))));

/** Every property: a function of random numbers that throws when it does not hold. */
const PROPERTIES = {
  /** Frames come out as they went in, however the stream is split; memory is not more than the bytes given. */
  'frame reader'(random) {
    const stream = random.chance(0.3)
      ? bytes(random, random.below(300))
      : mutate(
          random,
          Buffer.concat(
            Array.from({ length: random.below(20) }, () =>
              message(random.pick([...'DDDdCTZEN']), bytes(random, random.pick([0, 1, 5, 40, 400])))
            )
          ),
          random.below(3)
        );
    const got = [];
    const reader = new FrameReader({
      message(type, buf, start, end, count) {
        assert.equal(buf[start], type);
        let off = start;
        for (let i = 0; i < count; i++) off += 1 + buf.readInt32BE(off + 1);
        assert.equal(off, end);
        got.push(Buffer.from(buf.subarray(start, end)));
      }
    });
    for (let pos = 0; pos < stream.length;) {
      const size = 1 + random.below(random.pick([3, 30, 300]));
      const taken = refusing(() => {
        reader.push(stream.subarray(pos, pos + size));
        return true;
      });
      if (!taken) break;
      pos += size;
    }
    // What comes out is the beginning of what went in, cut at the lengths that it announces.
    const all = Buffer.concat(got);
    assert.deepEqual(all, stream.subarray(0, all.length));
  },

  /** Small messages are decoded or refused, and nothing beside them is seen. */
  'small messages'(random) {
    const decoder = random.pick(Object.keys(BODIES));
    const body = random.chance(0.2)
      ? bytes(random, random.below(40))
      : mutate(random, BODIES[decoder](random), random.below(3));
    const { buf, start, end } = amongSecrets(random, 'x', body);
    keepsSecrets(refusing(() => messages[decoder](buf, start, end)));
  },

  /** A RowDescription is parsed or refused; its rows show nothing but their own bytes. */
  rows(random) {
    const names = columns(random);
    const description = amongSecrets(
      random,
      'T',
      mutate(random, rowDescription(...names).subarray(5), random.chance(0.5) ? 0 : 1)
    );
    const parser = refusing(() => new RowParser(description.buf, description.start));
    if (parser === undefined) return;
    keepsSecrets(parser.columns);
    let row = amongSecrets(random, 'D', mutate(random, rowOf(random, names).subarray(5), random.below(3)));
    if (random.chance(0.2)) row = { buf: mutate(random, rowOf(random, names)), start: 0 }; // whose length may be wrong, too
    for (const format of [0, 1]) {
      const each = refusing(() => new parser[format](row.buf, row.start));
      if (each === undefined) continue;
      for (const look of [
        () => parser.columnNames.map((column, index) => each[index]),
        () => each.toArray(),
        () => each.toObject(),
        () => [...each],
        () => parser.columnNames.map(column => each.get(column)),
        () => each.rowBuffer,
        () => each.toJSON()
      ])
        keepsSecrets(refusing(look));
    }
  },

  /** The messages of a result, written to a reader one by one. */
  'row reader'(random) {
    const reader = new RowReader();
    const names = columns(random);
    const parts = [
      rowDescription(...names),
      ...Array.from({ length: random.below(5) }, () => rowOf(random, names)),
      commandComplete('SELECT 3')
    ];
    for (const part of parts) {
      const body = mutate(random, part.subarray(5), random.chance(0.7) ? 0 : 1);
      const { buf, start, end } = amongSecrets(random, String.fromCharCode(part[0]), body);
      if (refusing(() => reader.write(Buffer.from(buf.subarray(start, end))), TypeError) === null) return;
    }
    const rows = refusing(() => reader.rows, TypeError) || [];
    for (const row of rows) refusing(() => row.toArray && row.toArray());
  }
};

/** What a server answers to a query; with rows whose values say which they are. */
function answer(random, kind) {
  const names = ['a', 'b', 'c'].slice(0, 1 + random.below(3));
  const rows = Array.from({ length: random.below(6) }, (_, i) =>
    dataRow(...names.map(() => (random.chance(0.2) ? null : String.fromCharCode(97 + i).repeat(random.below(9)))))
  );
  if (kind === 'error') return [ANSWER.error('22012', 'division by zero'), ANSWER.ready];
  if (kind === 'simpleQuery')
    return [
      rowDescription(...names),
      ...rows,
      commandComplete('SELECT 3'),
      commandComplete('INSERT 0 1'),
      ANSWER.ready
    ];
  const middle = random.chance(0.3)
    ? [
        message('N', 'SNOTICE\0C00000\0Mhello\0\0'),
        message('A', 4711, 'channel\0payload\0'),
        message('S', 'TimeZone\0UTC\0')
      ]
    : [];
  const settings =
    kind === 'settings' ? [ANSWER.described('set_config'), dataRow('x'), commandComplete('SELECT 1')] : [];
  return [
    ...settings,
    ANSWER.described(...names),
    ...rows.slice(0, 3),
    ...middle,
    ...rows.slice(3),
    commandComplete(`SELECT ${rows.length}`),
    ANSWER.ready
  ];
}

/** Whole messages that are missing, doubled or in another place. */
function shuffle(random, stream) {
  const list = Array.from(frames(stream), ({ bytes }) => bytes);
  for (let times = 1 + random.below(2); times > 0; times--) {
    const [frame] = list.splice(random.below(list.length), random.below(3));
    if (frame && random.chance(0.7)) list.splice(random.below(list.length + 1), 0, frame);
  }
  return Buffer.concat(list);
}

/**
 * A client whose server answers with mutated bytes: every promise settles, and every value lies within its row.
 */
async function client(random) {
  const kinds = Array.from({ length: 1 + random.below(6) }, () =>
    random.pick(['query', 'query', 'binary', 'batch', 'simpleQuery', 'error', 'cursor', 'copy', 'settings', 'settings'])
  );
  let answers = Buffer.concat(kinds.flatMap(kind => answer(random, kind)));
  if (random.chance(0.1)) answers = bytes(random, random.below(500));
  else answers = random.chance(0.4) ? shuffle(random, answers) : mutate(random, answers);
  const greeting = random.chance(0.1) ? mutate(random, GREETING) : GREETING;
  const stream = Buffer.concat([greeting, answers]);
  const socket = new Duplex({
    read() {},
    write(chunk, encoding, callback) {
      callback();
    },
    final(callback) {
      callback();
    }
  });
  const instance = new Client({
    user: 'x',
    database: 'x',
    sslmode: 'disable',
    socket,
    connect_timeout: 5
  });
  const connecting = instance.connect();
  const works = kinds.map(kind => {
    switch (kind) {
      case 'binary':
        return instance.query('SELECT b', [], 1);
      case 'batch':
        return instance.batch([['SELECT 1']]);
      case 'simpleQuery':
        return instance.simpleQuery('SELECT 1; SELECT 2');
      case 'cursor':
        return instance.cursor('SELECT c', [], { batchSize: 2 }).next();
      case 'settings':
        return instance.with({ 'app.tenant': random.below(2) }).query('SELECT s');
      case 'copy':
        return instance.query('COPY t FROM STDIN');
      default:
        return instance.query('SELECT q');
    }
  });
  const settled = Promise.allSettled([connecting, ...works]);
  let pos = 0;
  const feed = () => {
    if (socket.destroyed) return;
    if (pos >= stream.length) return void socket.push(null);
    const size = 1 + random.below(random.pick([5, 50, 5000]));
    socket.push(stream.subarray(pos, pos + size));
    pos += size;
    setImmediate(feed);
  };
  setImmediate(feed);
  const [, ...results] = await settled;
  await instance.closed;
  assert.equal(instance.pending, 0);
  for (const { value, reason } of results) {
    if (reason)
      assert.ok(
        reason instanceof ConnectionError || reason instanceof PostgresError || reason.name === 'UsageError',
        reason.stack
      );
    for (const reader of Array.isArray(value) ? value : [value]) {
      if (!(reader instanceof RowReader)) continue;
      for (const row of refusing(() => reader.rows) || []) {
        if (row instanceof Uint8Array) continue;
        const whole = refusing(() => row.rowBuffer);
        if (whole === undefined) continue;
        for (const each of refusing(() => row.toArray()) || []) {
          if (each === null) continue;
          if (each instanceof Uint8Array) {
            assert.equal(each.buffer, whole.buffer);
            assert.ok(
              each.byteOffset >= whole.byteOffset + 11 &&
                each.byteOffset + each.length <= whole.byteOffset + whole.length
            );
          } else if (!each.includes('\ufffd')) assert.ok(whole.includes(each), 'a value of other bytes');
        }
      }
    }
  }
}

/** The browser's parser: results or a refusal, nothing else, in whatever pieces. */
async function clientParser(random) {
  const {
    Client: Parser,
    ProtocolError,
    PostgresError: ParserError,
    decoders,
    rows: read
  } = await import('../../client-parser/index.js');
  const kinds = Array.from({ length: 1 + random.below(3) }, () => random.pick(['query', 'query', 'error']));
  let stream = Buffer.concat(kinds.flatMap(kind => answer(random, kind)));
  stream = random.chance(0.2) ? bytes(random, random.below(300)) : mutate(random, stream, random.below(4));
  const pieces = [];
  for (let pos = 0; pos < stream.length;) {
    const size = 1 + random.below(random.pick([5, 50, 500]));
    pieces.push(new Uint8Array(stream.subarray(pos, pos + size)));
    pos += size;
  }
  const classes = [ProtocolError, ParserError, SyntaxError, RangeError];
  const parser = new Parser(random.below(2), random.chance(0.5) ? { decode: true } : undefined);
  for (const piece of pieces) refusing(() => parser.onData(piece), ...classes);
  refusing(() => parser.end(), ...classes);
  for (const row of parser.stream.structs) refusing(() => row.toArray && row.toArray(), ...classes);
  refusing(() => parser.stream.rows, ...classes);
  try {
    for await (const row of read(pieces, { decode: random.chance(0.5) }))
      if (row.toArray) refusing(() => row.toArray(), ...classes);
  } catch (error) {
    if (!classes.some(each => error instanceof each)) throw error;
  }
  // Decoders of types, of random bytes and of numbers that announce too much.
  const oid = random.pick(Object.keys(decoders));
  const format = random.below(2);
  let body = random.chance(0.5)
    ? bytes(random, random.below(60))
    : format
      ? Buffer.concat(
          Array.from({ length: random.below(12) }, () =>
            message('', random.pick([0, 1, 2, 6, 23, 25, 2 ** 31 - 1, 2 ** 30, -1 >>> 0])).subarray(4)
          )
        )
      : Buffer.from(
          Array.from({ length: random.below(40) }, () => random.pick([...'{}[](),"\\NUL01:-.e= infBC'])).join('')
        );
  if (random.chance(0.2)) body = mutate(random, body);
  const around = Buffer.concat([Buffer.from(SECRET), body, Buffer.from(SECRET.repeat(50))]);
  keepsSecrets(
    refusing(
      () => decoders[oid][format](new Uint8Array(around), SECRET.length, SECRET.length + body.length),
      ...classes
    )
  );
}

const ASYNC = { 'a client’s whole connection': client, 'client-parser': clientParser };

/** Runs all properties once. */
async function once(seed) {
  const random = seeded(seed);
  for (const [property, holds] of [...Object.entries(PROPERTIES), ...Object.entries(ASYNC)]) {
    const begun = Date.now();
    let timer;
    const late = new Promise((resolve, reject) => {
      timer = setTimeout(() => reject(new Error('it hangs')), 10 * CASE);
    });
    try {
      await Promise.race([holds(random.fork()), late]);
      assert.ok(Date.now() - begun < CASE, 'it takes too long');
    } catch (error) {
      error.message = `seed ${seed}, ${property}: ${error.message}`;
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }
}

/**
 * Runs all properties for some time.
 * @returns {Promise<number>} how often
 */
async function fuzz(seconds, seed) {
  const first = seed;
  const heap = () => process.memoryUsage().rss;
  const before = heap();
  for (const until = Date.now() + seconds * 1000; Date.now() < until; seed++) {
    await once(seed);
    assert.ok(heap() - before < 512 * 1048576, `seed ${seed}: the process has grown by ${heap() - before} bytes`);
  }
  return seed - first;
}

async function main([seconds = 600, seed = Math.floor(Math.random() * 2 ** 31)]) {
  console.log(`${await fuzz(Number(seconds), Number(seed))} rounds from seed ${seed}`);
}

if (require.main === module) main(process.argv.slice(2));
module.exports = { fuzz, once };
