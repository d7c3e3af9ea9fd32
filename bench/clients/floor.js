'use strict';

// The floor: a bare socket, bytes that were made before, and a count of the frames that come back. It has no
// promise, object or string for a query or a row: what JavaScript does on this machine at the very least.

const net = require('node:net');
const tls = require('node:tls');

const READ_BUFFER = 65536;
const ERROR = 69,
  COMMAND_COMPLETE = 67,
  DATA_ROW = 68,
  COPY_IN = 71,
  SUSPENDED = 115,
  READY = 90;

function int32(value) {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function int16(value) {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

const cstring = text => Buffer.from(`${text}\0`);

/** A message of the protocol. */
function message(type, ...parts) {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body]);
}

const parse = (name, text) => message('P', cstring(name), cstring(text), int16(0));
const execute = (rows = 0) => message('E', cstring(''), int32(rows));
const SYNC = message('S');
const FLUSH = message('H');

function bind(name, values, format = 0) {
  const encoded = values.flatMap(value => [int32(Buffer.byteLength(value)), Buffer.from(value)]);
  const formats = [int16(1), int16(format)];
  return message('B', cstring(''), cstring(name), int16(0), int16(values.length), ...encoded, ...formats);
}

function startup({ user, database }) {
  const parameters = Buffer.concat(['user', user, 'database', database, ''].map(cstring));
  return Buffer.concat([int32(parameters.length + 8), int32(196608), parameters]);
}

class FloorSession {
  constructor(target) {
    this.frames = 0; // DataRow
    this._ready = 0; // ReadyForQuery still to come
    this._resolve = null;
    this._reject = null;
    this._onother = null; // told of frames that are rare
    this._sink = null; // where what is received goes as well
    this._held = Buffer.alloc(0); // less than the five bytes that a frame begins with
    this._skip = 0; // bytes still to come of a frame that was counted
    this._bytes = new Map(); // what was made for an earlier turn
    this._prepared = new Set();
    this._memory = Buffer.allocUnsafeSlow(READ_BUFFER);
    this._kept = false;
    this.socket = this._connect(target);
  }

  _connect({ path, host, port, tls: secure }) {
    const onread = {
      buffer: () => {
        if (this._kept) this._memory = Buffer.allocUnsafeSlow(READ_BUFFER);
        this._kept = false;
        return this._memory;
      },
      callback: (length, memory) => {
        this._read(memory, length);
        return true;
      }
    };
    const socket = secure
      ? tls.connect({ host, port, onread, ALPNProtocols: ['postgresql'], rejectUnauthorized: false })
      : net.connect(path ? { path, onread } : { host, port, onread });
    socket.setNoDelay(true);
    socket.on('error', error => this._fail(error));
    socket.on('close', () => this._fail(new Error('the connection is closed')));
    return socket;
  }

  _fail(error) {
    if (this._reject !== null) this._reject(error);
  }

  /** Resolves when so many ReadyForQuery have come. */
  _wait(ready) {
    return new Promise((resolve, reject) => {
      this._ready = ready;
      this._resolve = resolve;
      this._reject = reject;
    });
  }

  _send(bytes, ready) {
    this.socket.write(bytes);
    return this._wait(ready);
  }

  _read(buf, length) {
    let pos = 0;
    if (this._held.length > 0) {
      const take = Math.min(5 - this._held.length, length);
      this._held = Buffer.concat([this._held, buf.subarray(0, take)]);
      pos = take;
      if (this._held.length === 5) {
        this._count(this._held[0]);
        this._skip = this._held.readInt32BE(1) - 4;
        this._held = Buffer.alloc(0);
      }
    }
    pos += this._skip;
    let rows = 0;
    while (length - pos >= 5) {
      const type = buf[pos];
      pos += 1 + ((buf[pos + 1] << 24) | (buf[pos + 2] << 16) | (buf[pos + 3] << 8) | buf[pos + 4]);
      if (type === DATA_ROW) rows++;
      else if (type === READY) this._ready--;
      else if (type === COMMAND_COMPLETE || type === ERROR || type === SUSPENDED || type === COPY_IN) {
        this._count(type);
      }
    }
    this.frames += rows;
    this._skip = Math.max(0, pos - length);
    if (pos < length) this._held = Buffer.from(buf.subarray(pos, length));
    if (this._sink !== null) this._pass(buf.subarray(0, length));
    if (this._ready === 0 && this._skip === 0 && this._resolve !== null) {
      const resolve = this._resolve;
      this._resolve = this._reject = null;
      resolve();
    }
  }

  _count(type) {
    if (type === READY) this._ready--;
    else if (type === DATA_ROW) this.frames++;
    else if (type === ERROR) this._fail(new Error('the server has reported an error'));
    else if (this._onother !== null) this._onother(type);
  }

  _pass(bytes) {
    const sink = this._sink;
    if (!sink.write(bytes)) {
      this.socket.pause();
      sink.once('drain', () => this.socket.resume());
    }
    if (sink.writableLength > 0) this._kept = true;
  }

  /** Bytes made by `make` the first time. */
  _made(key, make) {
    let bytes = this._bytes.get(key);
    if (bytes === undefined) this._bytes.set(key, (bytes = make()));
    return bytes;
  }

  _each(statement, lists, sync) {
    const key = `${statement.name} ${lists[0]} ${lists.length} ${sync.length}`;
    return this._made(key, () =>
      Buffer.concat(lists.flatMap(values => [bind(statement.name, values), execute(), sync]))
    );
  }

  async _prepare(statement) {
    if (this._prepared.has(statement.name)) return;
    this._prepared.add(statement.name);
    await this._send(Buffer.concat([parse(statement.name, statement.text), SYNC]), 1);
  }

  async burst(statement, lists) {
    await this._prepare(statement);
    await this._send(this._each(statement, lists, SYNC), lists.length);
  }

  async batch(statement, lists) {
    await this._prepare(statement);
    const bytes = this._made(`batch ${statement.name} ${lists[0]}`, () =>
      Buffer.concat([this._each(statement, lists, Buffer.alloc(0)), SYNC])
    );
    await this._send(bytes, 1);
  }

  async repeat(statement, lists, count) {
    await this._prepare(statement);
    const bytes = this._each(statement, lists, SYNC);
    const ready = this._wait(count);
    for (let i = 0; i < count; i += lists.length) this.socket.write(bytes);
    await ready;
  }

  async read(statement) {
    const bytes = this._made(statement.name, () =>
      Buffer.concat([parse('', statement.text), bind('', []), execute(), SYNC])
    );
    this.frames = 0;
    await this._send(bytes, 1);
    return this.frames;
  }

  /** One write each for the results that a read has brought. */
  async passEach(sink, statement, lists) {
    this._sink = sink;
    await this.burst(statement, lists);
    this._sink = null;
  }

  async passTo(sink, statement) {
    this._sink = sink;
    await this.read(statement);
    this._sink = null;
    await new Promise(resolve => sink.end(resolve));
    this.socket.resume(); // a stream that ends has no 'drain' any more
  }

  async copyOut(statement, sink) {
    const before = this.socket.bytesRead;
    await this._send(message('Q', cstring(statement.text)), 1);
    sink.bytesTaken += this.socket.bytesRead - before;
  }

  copyLoop(statement, sink) {
    return this.copyOut(statement, sink);
  }

  async copyIn(statement, chunks) {
    // A message each, but few writes.
    const messages = this._made('copy', () => {
      const all = Buffer.concat(chunks.map(chunk => message('d', chunk)));
      return Array.from({ length: Math.ceil(all.length / READ_BUFFER) }, (_, index) =>
        all.subarray(index * READ_BUFFER, (index + 1) * READ_BUFFER)
      );
    });
    const done = message('c');
    let index = 0;
    const write = () => {
      while (index < messages.length) if (!this.socket.write(messages[index++])) return;
      this.socket.off('drain', write);
      this.socket.write(done);
    };
    this._onother = type => {
      if (type !== COPY_IN) return;
      this.socket.on('drain', write);
      write();
    };
    await this._send(message('Q', cstring(statement.text)), 1);
    this._onother = null;
  }

  async cursor(statement, size, onrows) {
    const step = Buffer.concat([execute(size), FLUSH]);
    this.frames = 0;
    this._onother = type => this.socket.write(type === SUSPENDED ? step : SYNC);
    await this._send(Buffer.concat([parse('', statement.text), bind('', []), step]), 1);
    this._onother = null;
    onrows(this.frames);
  }

  /** Tells the server, and waits until it has closed the connection. */
  terminate() {
    const closed = new Promise(resolve => this.socket.once('close', resolve));
    this.socket.end(message('X'));
    return closed;
  }

  async end() {
    this.socket.destroy();
  }
}

module.exports = {
  label: 'floor (bare socket)',
  cannot: {
    'rows-arrays': 'it only counts frames',
    'rows-binary': 'it only counts frames',
    'pass-binary': 'its bytes are those of text',
    'rows-one-column': 'it only counts frames',
    'rows-objects': 'it only counts frames',
    'rows-objects-typed': 'it only counts frames',
    'rows-objects-unicode': 'it only counts frames',
    'rows-objects-typed-unicode': 'it only counts frames',
    transactions: 'it reads no row',
    'rows-kept': 'it keeps nothing',
    require: 'there is no library'
  },

  async open(target) {
    const session = new FloorSession(target);
    await session._send(startup(target), 1);
    return session;
  },

  async firstRow(target, statement, values) {
    const session = new FloorSession(target);
    const query = [parse('', statement.text), bind('', values), execute(), SYNC];
    await session._send(Buffer.concat([startup(target), ...query]), 2);
    if (session.frames !== 1) throw new Error('no row');
    await session.terminate();
  }
};
