// What stands in for Node.js's modules when the client is bundled for a page: see lib/sockets/README.md.
import { Buffer } from 'buffer';

export { default as EventEmitter } from 'events';
export { Buffer };
export const setMaxListeners = () => {};
export const isAscii = bytes => bytes.every(byte => byte < 128);

const { prototype } = Buffer;
prototype.utf8Slice = function (start, end) {
  return this.toString('utf8', start, end);
};
prototype.latin1Slice = function (start, end) {
  return this.toString('latin1', start, end);
};
prototype.utf8Write = function (text, start) {
  return this.write(text, start);
};

export const process = {
  env: {},
  platform: 'browser',
  emitWarning: console.warn,
  nextTick: (work, ...args) => queueMicrotask(() => work(...args))
};
export const setImmediate = work => setTimeout(work);
export const clearImmediate = timer => clearTimeout(timer);

// SCRAM; a page has crypto.subtle on https: and on localhost
const hash = 'SHA-256';
const { subtle } = crypto;
const hashed = work => ({ update: data => ({ digest: async () => Buffer.from(await work(Buffer.from(data))) }) });
const imported = (key, algorithm, use) => subtle.importKey('raw', Buffer.from(key), algorithm, false, [use]);
export const createHash = name => {
  if (name === 'md5') throw new Error('browsers have no MD5: let the server keep the password for scram-sha-256');
  return hashed(data => subtle.digest(hash, data));
};
export const createHmac = (_, key) =>
  hashed(async data => subtle.sign('HMAC', await imported(key, { name: 'HMAC', hash }, 'sign'), data));
export const pbkdf2 = async (password, salt, iterations, length) =>
  Buffer.from(
    await subtle.deriveBits(
      { name: 'PBKDF2', hash, salt, iterations },
      await imported(password, 'PBKDF2', 'deriveBits'),
      8 * length
    )
  );
export const debuglog = () => () => {};
export const promisify = asynchronous => asynchronous;
export const inspect = { custom: Symbol.for('nodejs.util.inspect.custom') };
export const randomBytes = length => Buffer.from(crypto.getRandomValues(new Uint8Array(length)));
export const timingSafeEqual = (a, b) => a.equals(b); // of what only this page has computed

// What a page does not have
export class AsyncLocalStorage {
  disable() {}
  getStore() {}
  run(store, work) {
    return work();
  }
}
export class AsyncResource {
  runInAsyncScope(work, self, ...args) {
    return work.apply(self, args);
  }
}
export const tracingChannel = () => ({ hasSubscribers: false });
export const existsSync = () => false;
export const statSync = () => undefined;
export const homedir = () => '';
export const join = (...parts) => parts.join('/');
export const isIP = () => 0;
export const isIPv4 = text => /^[\d.]+$/.test(text);
export const isIPv6 = text => text.includes(':');
