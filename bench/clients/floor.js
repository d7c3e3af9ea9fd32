'use strict';

const net = require('node:net');
const tls = require('node:tls');
const { SELECT, ROWS } = require('../queries');

const READ_BUFFER = 65536;
const INT32 = value => { const bytes = Buffer.alloc(4); bytes.writeInt32BE(value); return bytes; };
const INT16 = value => { const bytes = Buffer.alloc(2); bytes.writeInt16BE(value); return bytes; };
const cstring = text => Buffer.from(`${text}\0`);

/** One frontend message. */
function message(type, ...parts) {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(type), INT32(body.length + 4), body]);
}

const parse = (name, text) => message('P', cstring(name), cstring(text), INT16(0));
const execute = message('E', cstring(''), INT32(0));
const sync = message('S');
function bind(name, values, format = 0) {
  const encoded = values.flatMap(value => [INT32(Buffer.byteLength(value)), Buffer.from(value)]);
  return message('B', cstring(''), cstring(name), INT16(0), INT16(values.length), ...encoded, INT16(1), INT16(format));
}

/**
 * A socket, bytes that were prepared before, and a count of the frames that come back. Nothing that does the
 * same work from JavaScript can cost less.
 */
class FloorSession {
  constructor() {
    this.rows = 0;
    this._ready = 0; // ReadyForQuery still to come
    this._resolve = null;
    this._reject = null;
    this._held = Buffer.alloc(0);
    this._skip = 0; // bytes of a frame whose beginning was counted
    this._flights = new Map();
    const memory = Buffer.allocUnsafeSlow(READ_BUFFER);
    this.onread = {
      buffer: memory,
      callback: length => {
        this._read(memory, length);
        return true;
      }
    };
  }

  static async open({ path, host, port, user, database, tls: secure }) {
    const session = new FloorSession();
    const { onread } = session;
    const socket = secure
      ? tls.connect({ host, port, onread, ALPNProtocols: ['postgresql'], rejectUnauthorized: false })
      : net.connect(path ? { path, onread } : { host, port, onread, noDelay: true });
    session.socket = socket;
    socket.setNoDelay(true);
    const parameters = Buffer.concat(['user', user, 'database', database, ''].map(cstring));
    const startup = Buffer.concat([INT32(parameters.length + 8), INT32(196608), parameters]);
    socket.on('error', error => session._reject && session._reject(error));
    await new Promise((resolve, reject) => {
      socket.once(secure ? 'secureConnect' : 'connect', resolve);
      socket.once('error', reject);
    });
    await session.send(startup, 1);
    await session.send(Buffer.concat([parse('select', SELECT), sync]), 1);
    return session;
  }

  /** Writes bytes and waits for so many ReadyForQuery. */
  send(bytes, ready) {
    return new Promise((resolve, reject) => {
      this._ready = ready;
      this._resolve = resolve;
      this._reject = reject;
      this.socket.write(bytes);
    });
  }

  _read(buf, length) {
    let pos = 0;
    if (this._held.length > 0) {
      // A frame's five first bytes were cut apart.
      const need = 5 - this._held.length;
      this._held = Buffer.concat([this._held, buf.subarray(0, Math.min(need, length))]);
      if (length < need) return;
      const type = this._held[0];
      this._skip = this._held.readInt32BE(1) - 4;
      this._held = Buffer.alloc(0);
      this._count(type);
      pos = need;
    }
    if (this._skip > 0) {
      const skipped = Math.min(this._skip, length - pos);
      this._skip -= skipped;
      pos += skipped;
    }
    while (length - pos >= 5) {
      const type = buf[pos];
      const end = pos + 1 + ((buf[pos + 1] << 24) | (buf[pos + 2] << 16) | (buf[pos + 3] << 8) | buf[pos + 4]);
      if (type === 90) this._ready--;
      else if (type === 68) this.rows++;
      else if (type === 69) this._count(type);
      pos = end;
    }
    if (pos > length) this._skip = pos - length;
    else if (pos < length) this._held = Buffer.from(buf.subarray(pos, length));
    // The last frame may be only begun; the byte that ends ReadyForQuery always comes with it in practice, but
    // waiting for it costs nothing.
    if (this._ready === 0 && this._skip === 0 && this._resolve !== null) {
      const resolve = this._resolve;
      this._resolve = null;
      resolve();
    }
  }

  _count(type) {
    if (type === 90) this._ready--;
    else if (type === 68) this.rows++;
    else if (type === 69) this._reject(new Error('the server reported an error'));
  }

  /** Bytes made once for each list of ids. */
  _flight(kind, ids, make) {
    const key = `${kind} ${ids[0]} ${ids.length}`;
    let bytes = this._flights.get(key);
    if (bytes === undefined) this._flights.set(key, bytes = make());
    return bytes;
  }

  selects(ids) {
    return this.send(this._flight('selects', ids, () =>
      Buffer.concat(ids.flatMap(id => [bind('select', [id]), execute, sync]))), ids.length);
  }

  batch(ids) {
    return this.send(this._flight('batch', ids, () =>
      Buffer.concat([...ids.flatMap(id => [bind('select', [id]), execute]), sync])), 1);
  }

  async readRows() {
    this.rows = 0;
    await this.send(this._flight('rows', [''], () => Buffer.concat([parse('', ROWS), bind('', []), execute, sync])), 1);
    return this.rows;
  }

  async end() { this.socket.destroy(); }
}

module.exports = {
  label: 'floor (bare socket)',
  open: target => FloorSession.open(target)
};
