'use strict';

const assert = require('node:assert/strict');
const crypto = require('node:crypto');
const { EventEmitter, once } = require('node:events');
const fs = require('node:fs');
const http = require('node:http');
const net = require('node:net');
const path = require('node:path');
const { promisify } = require('node:util');
const zlib = require('node:zlib');
const { launchBrowser, skipUnless, startServer, startWebsockify } = require('pg-test-fixtures');
const address = require('../../lib/websocket/browser/address');
const browserBuffer = require('../../lib/websocket/browser/buffer').Buffer;
const browserCrypto = require('../../lib/websocket/browser/crypto');
const lacking = require('../../lib/websocket/browser/lacking');
const browserEvents = require('../../lib/websocket/browser/events');
const platform = require('../../lib/websocket/browser/platform');
const node = require('../../lib/node');

const ROOT = path.join(__dirname, '../..');

/** The bundle that somebody who uses the client in a page would get. */
async function bundle() {
  // The fixtures' own dependency.
  const esbuild = require(require.resolve('esbuild', { paths: [path.dirname(require.resolve('pg-test-fixtures'))] }));
  const { outputFiles: [{ text }], metafile: { inputs } } = await esbuild.build({
    stdin: {
      contents: "export { Client } from './index.mjs'; export { webSocket } from './lib/websocket/index.js';", resolveDir: ROOT
    },
    bundle: true, format: 'esm', platform: 'browser', minify: true, write: false, metafile: true, logLevel: 'silent'
  });
  return { text, inputs: Object.keys(inputs) };
}

describe('In the browser', () => {
  describe('Buffer', () => {
    const [Ours, Theirs] = [browserBuffer, Buffer];
    const same = (one, two) => {
      assert.ok(one instanceof Ours);
      assert.deepEqual([...one], [...two]);
    };
    const TEXTS = ['', 'a', 'ab', 'abc', '\0\t', 'äöü€😀', '\ufeffbom', 'x'.repeat(20000), 'lone \ud800 half'];

    it('makes and reads texts as that of Node', () => {
      for (const text of TEXTS) {
        same(Ours.from(text), Theirs.from(text));
        assert.equal(Ours.byteLength(text), Theirs.byteLength(text));
        assert.equal(Ours.from(text).toString(), Theirs.from(text).toString());
        same(Ours.from(text.replace(/[^\0-\xff]/g, '?'), 'latin1'), Theirs.from(text.replace(/[^\0-\xff]/g, '?'), 'latin1'));
        for (const encoding of ['utf8', 'latin1', 'hex', 'base64']) {
          const shown = Theirs.from(text).toString(encoding);
          assert.equal(Ours.from(text).toString(encoding), shown);
          same(Ours.from(shown, encoding), Theirs.from(shown, encoding));
          assert.equal(Ours.from(text).toString(encoding, 1, 5), Theirs.from(text).toString(encoding, 1, 5));
        }
        if (text.length > 1) {
          assert.equal(Ours.from(text).latin1Slice(1, 2), Theirs.from(text).latin1Slice(1, 2));
          assert.equal(Ours.from(text).utf8Slice(1, 2), Theirs.from(text).utf8Slice(1, 2));
        }
        const [one, two] = [Ours.alloc(20), Theirs.alloc(20)];
        assert.equal(one.utf8Write(text, 3), two.utf8Write(text, 3));
        same(one, two);
        if (text.length < 10) {
          assert.equal(one.write(text), two.write(text));
          assert.equal(one.write(text, 1), two.write(text, 1));
          assert.equal(one.write('0aff', 5, 'hex'), two.write('0aff', 5, 'hex'));
          same(one, two);
        }
      }
      assert.throws(() => Ours.from('x', 'utf16le'), /unknown encoding/);
    });

    it('makes, joins and copies bytes as that of Node', () => {
      const bytes = new Uint8Array([1, 2, 3, 4, 250, 251]);
      for (const make of [
        B => B.from(bytes), B => B.from([1, 2, 300]), B => B.from(bytes.buffer, 1, 3), B => B.from(bytes.buffer),
        B => B.alloc(3), B => B.alloc(3, 7), B => B.concat([bytes, B.from('x'), bytes]), B => B.from(bytes).subarray(2, 4),
        B => B.from(bytes).map(byte => byte + 10)
      ]) same(make(Ours), make(Theirs));
      assert.equal(Ours.from(bytes.buffer, 1, 3).buffer, bytes.buffer);
      assert.notEqual(Ours.from(bytes).buffer, bytes.buffer);
      assert.equal(Ours.allocUnsafe(5).length + Ours.allocUnsafeSlow(5).length, 10);
      assert.ok(Ours.isBuffer(Ours.alloc(1)) && !Ours.isBuffer(bytes));
      assert.equal(Ours.byteLength(bytes), 6);
      for (const args of [[], [2], [2, 1], [2, 1, 3], [0, 4], [7], [8]]) {
        const [one, two] = [Ours.alloc(8), Theirs.alloc(8)];
        assert.equal(Ours.from(bytes).copy(one, ...args), Theirs.from(bytes).copy(two, ...args), String(args));
        same(one, two);
      }
      assert.equal(Ours.from(bytes).indexOf(250, 1), 4);
    });

    it('reads and writes numbers as that of Node, and not beyond its end', () => {
      const random = crypto.randomBytes(64);
      const view = Theirs.from(random).subarray(5); // not at the beginning of its memory
      const ours = new Ours(view.buffer, view.byteOffset, view.length);
      for (const name of ['UInt16BE', 'Int16BE', 'UInt32BE', 'Int32BE']) {
        for (let off = 0; off < 40; off++) {
          const value = view[`read${name}`](off);
          assert.deepEqual(ours[`read${name}`](off), value);
          const [one, two] = [Ours.alloc(50), Theirs.alloc(50)];
          assert.equal(one[`write${name}`](value, off), two[`write${name}`](value, off));
          same(one, two);
        }
        assert.equal(ours[`read${name}`](), view[`read${name}`]());
        assert.throws(() => ours[`read${name}`](view.length - 1), RangeError);
        assert.throws(() => ours[`write${name}`](0, view.length - 1), RangeError);
      }
    });
  });

  describe('crypto', () => {
    it('has digests as those of Node, but for MD5', async () => {
      for (let length = 0; length < 300; length++) {
        const bytes = crypto.randomBytes(length);
        assert.deepEqual([...await browserCrypto.createHash('sha256').update(bytes).digest()],
          [...crypto.createHash('sha256').update(bytes).digest()]);
        const key = crypto.randomBytes(1 + length % 150);
        assert.deepEqual([...await browserCrypto.createHmac('sha256', key).update(bytes).digest()],
          [...crypto.createHmac('sha256', key).update(bytes).digest()]);
      }
      assert.throws(() => browserCrypto.createHash('md5'), { name: 'UsageError', message: /no md5: .* scram-sha-256/ });
    });

    it('derives keys as Node, where the platform has what that needs', async () => {
      const salt = crypto.randomBytes(16);
      const expected = await promisify(crypto.pbkdf2)('pässword', salt, 4096, 32, 'sha256');
      assert.deepEqual([...await browserCrypto.pbkdf2('pässword', salt, 4096, 32)], [...expected]);
      const descriptor = Object.getOwnPropertyDescriptor(globalThis, 'crypto');
      Object.defineProperty(globalThis, 'crypto', { value: {}, configurable: true });
      try {
        await assert.rejects(browserCrypto.pbkdf2('x', salt, 1, 32), /crypto.subtle.*only on https: pages and on localhost/);
      } finally {
        Object.defineProperty(globalThis, 'crypto', descriptor);
      }
    });

    it('compares, and has random bytes', () => {
      const [one, two] = [browserCrypto.randomBytes(32), browserCrypto.randomBytes(32)];
      assert.equal(one.length, 32);
      assert.ok(!browserCrypto.timingSafeEqual(one, two));
      assert.ok(browserCrypto.timingSafeEqual(one, Buffer.from(one)));
    });
  });

  it('has an EventEmitter that does what that of Node does', () => {
    const logs = [EventEmitter, browserEvents.EventEmitter].map(Emitter => {
      const log = [];
      const emitter = new Emitter();
      const [a, b] = ['a', 'b'].map(name => (...values) => log.push([name, ...values]));
      emitter.on('x', a).addListener('x', b).once('x', a);
      log.push(emitter.listenerCount('x'), emitter.emit('x', 1, 2), emitter.listenerCount('x'));
      emitter.once('x', () => emitter.on('x', a)); // not called for the event that is going on
      log.push(emitter.emit('x', 3), emitter.off('x', a).listenerCount('x'));
      emitter.removeListener('x', a).removeListener('x', a).removeListener('x', b).removeListener('y', b);
      log.push(emitter.emit('x', 4), emitter.listenerCount('z'));
      emitter.on('z', a).on('z', b).off('z', a);
      log.push(emitter.emit('z', 5));
      emitter.on('y', a).removeAllListeners('y');
      log.push(emitter.emit('y', 6), emitter.listenerCount('z'), emitter.removeAllListeners().listenerCount('z'));
      const error = new Error('nobody listens');
      try {
        emitter.emit('error', error);
      } catch (thrown) {
        log.push(thrown === error);
      }
      assert.throws(() => emitter.on('x', 5), TypeError);
      return log;
    });
    assert.deepEqual(logs[1], logs[0]);
  });

  it('tells addresses as Node does', () => {
    for (const text of [
      '127.0.0.1', '127.255.0.9', '128.0.0.1', '1.2.3', '1.2.3.256', '01.2.3.4', '1.2.3.4.5', 'localhost', '', '::1', '::',
      '0:0:0:0:0:0:0:1', '::2', 'fe80::1', 'fe80::1%eth0', '1::2::3', '::ffff:127.0.0.1', ':1', 'a:b', '[::1]', 'x.y:80'
    ]) {
      assert.equal(address.isIP(text), net.isIP(text), text);
    }
  });

  it('has all that Node has for the client, and says what it lacks', () => {
    for (const name in node) assert.ok(platform[name] !== undefined, name);
    const files = fs.readdirSync(path.join(ROOT, 'lib'), { recursive: true }).filter(name => name.endsWith('.js'));
    assert.ok(files.length > 50);
    for (const file of files.filter(name => !['platform.js', 'node.js'].includes(name) && !name.includes('browser'))) {
      const text = fs.readFileSync(path.join(ROOT, 'lib', file), 'utf8').replace(/\/\*[^]*?\*\/|\/\/.*/g, '');
      assert.doesNotMatch(text, /require\('node:/, `${file}: what is of Node comes from the platform`);
      for (const [, list, member = list] of text.matchAll(/(?:const \{ ([\w, ]+) \} = )?require\('#node\/[^']+'\)(?:\.(\w+))?/g)) {
        for (const name of member.split(', ')) assert.equal(typeof lacking[name], 'function', `${file}: ${name}`);
      }
      const [, taken = ''] = /^const \{ ([\w,:{} ]+) \} = require\('[./]+\/platform'\);$/m.exec(text) ?? [];
      const code = text.replace(/'(\\.|[^'\\\n])*'/g, '');
      for (const [, name, member] of code.matchAll(/(?<![\w.#$-])(Buffer|process|setImmediate|clearImmediate)\b(?:\.(\w+))?/g)) {
        if (taken.split(', ').includes(name)) continue;
        if (new RegExp(`${name}[.(]`).test(code)) assert.fail(`${file}: ${name}${member ? `.${member}` : ''} is not from the platform`);
      }
      // TLS is done by the platform or not at all.
      for (const [, name, member] of path.basename(file) === 'tls.js' ? [] : code.matchAll(/\b(crypto|dns|fs|net|os|path|tls|process|Buffer)\.(\w+)/g)) {
        if (taken.split(', ').includes(name)) assert.ok(member in platform[name], `${file}: ${name}.${member}`);
      }
    }
    for (const use of [
      () => platform.net.connect(), () => platform.dns.lookup(), () => new platform.stream.Readable(),
      () => platform.fs.readFileSync(), () => platform.os.userInfo()
    ]) assert.throws(use, { name: 'UsageError', code: '0A000', message: /there (is|are) no .* on this platform/ });
  });

  describe('the client, bundled for Chromium, through websockify', function () {
    let server;
    let proxy;
    let web;
    let browser;
    let page;

    before(async function () {
      skipUnless(this, 'chromium', 'websockify');
      const { text, inputs } = await bundle();
      assert.ok(inputs.includes('lib/websocket/browser/platform.js') && !inputs.includes('lib/node.js'));
      const { length } = zlib.gzipSync(text);
      // 40,000 is what its design wants.
      assert.ok(length < 49_000, `${length} bytes`);
      server = await startServer({
        users: {
          scram: { password: 'pässword' }, cleartext: { password: 'secret' }, md5: { password: 'secret', encryption: 'md5' }
        },
        hba: [
          'local all all trust', 'host all fixtures all trust', 'host all cleartext all password', 'host all md5 all md5',
          'host all scram all scram-sha-256'
        ]
      });
      proxy = await startWebsockify({ target: server });
      const files = {
        '/': ['text/html', '<!doctype html><title>test</title>'],
        '/quickgres.js': ['text/javascript', text],
        '/worker.js': ['text/javascript', `import { Client, webSocket } from '/quickgres.js';
          import { exercise } from '/exercise.mjs';
          onmessage = ({ data: { url, ...config } }) => exercise(Client, { ...config, socket: webSocket(url) }).catch(String).then(postMessage);`],
        '/exercise.mjs': ['text/javascript', fs.readFileSync(path.join(__dirname, '../exercise.mjs'))]
      };
      web = http.createServer((request, response) => {
        const file = files[request.url] ?? ['text/plain', 'not found'];
        response.writeHead(files[request.url] ? 200 : 404, { 'content-type': file[0] });
        response.end(file[1]);
      }).listen(0, '127.0.0.1');
      await once(web, 'listening');
      browser = await launchBrowser();
      page = await browser.newPage();
      await page.goto(`http://localhost:${web.address().port}/`);
    });

    after(async () => {
      await browser?.close();
      web?.close();
      await proxy?.stop();
      await server?.stop();
    });

    const config = more => ({
      host: server.host, port: server.port, database: server.database, user: 'scram', password: 'pässword',
      url: proxy.url, ...more
    });

    it('authenticates by SCRAM and cleartext, and refuses what it must', async () => {
      const ask = given => page.evaluate(async ({ url, ...config }) => {
        const { Client, webSocket } = await import('/quickgres.js');
        const client = new Client({ ...config, socket: url && webSocket(url) });
        try {
          await client.connect();
          const { rows } = await client.query('SELECT current_user AS name');
          await client.end();
          return [rows[0].name, client.serverParameters.server_encoding];
        } catch (error) {
          return `${error.name} ${error.code} ${error.message}`;
        }
      }, given);
      assert.deepEqual(await ask(config()), ['scram', 'UTF8']);
      assert.deepEqual(await ask(config({ require_auth: 'scram-sha-256' })), ['scram', 'UTF8']);
      assert.deepEqual(await ask(config({ user: 'cleartext', password: 'secret' })), ['cleartext', 'UTF8']);
      assert.match(await ask(config({ user: 'md5', password: 'secret' })), /^(Connection|Usage)Error 0A000 .*browsers have no md5/);
      assert.match(await ask(config({ password: 'wrong' })), /^PostgresError 28P01/);
      assert.match(await ask(config({ require_auth: 'md5' })), /^ConnectionError 28000 .*asks for scram-sha-256/);
      assert.match(await ask(config({ sslmode: 'require' })), /^ConnectionError 0A000 .*there is no TLS but that of the WebSocket/);
      assert.match(await ask(config({ url: undefined })), /no TCP, but WebSockets \(quickgres\/websocket\)/);
      assert.match(await ask(config({ user: undefined })), /^TypeError undefined user must be given/);
      assert.match(await ask(config({ url: 'ws://localhost:9/' })), /^ConnectionError 08001 .*could not be opened/);
    });

    it('does all that it does elsewhere, and says what it lacks', async () => {
      const seen = await page.evaluate(async ({ url, ...config }) => {
        const { Client, webSocket } = await import('/quickgres.js');
        const { exercise } = await import('/exercise.mjs');
        const whole = { ...config, socket: webSocket(url) };
        const seen = await exercise(Client, whole);
        const client = new Client(whole);
        await client.connect();
        const none = await Promise.resolve().then(() => client.copyTo('COPY users TO STDOUT')).catch(error => error);
        const { rows } = await client.query('SELECT 1 AS n');
        const same = await Promise.resolve().then(() => client.cursor('SELECT 1').readable()).catch(error => error);
        await client.end();
        const more = { same: same.message, none: [none.name, none.code, none.message], after: rows[0].n, globals: [typeof Buffer, typeof process] };
        return { seen, more };
      }, config());
      assert.deepEqual(seen.seen, (await import('../exercise.mjs')).EXPECTED);
      assert.deepEqual(seen.more, {
        same: 'there are no streams of Node.js, which this needs, on this platform',
        none: ['UsageError', '0A000', 'there are no streams of Node.js, which this needs, on this platform'],
        after: '1',
        globals: ['undefined', 'undefined']
      });
    });

    it('works in a Web Worker', async () => {
      const answer = await page.evaluate(config => new Promise(resolve => {
        const worker = new Worker('/worker.js', { type: 'module' });
        worker.onmessage = event => resolve(event.data);
        worker.onerror = event => resolve(event.message);
        worker.postMessage(config);
      }), config());
      assert.deepEqual(answer, (await import('../exercise.mjs')).EXPECTED);
    });

    it('settles everything when the proxy dies', async () => {
      const own = await startWebsockify({ target: server });
      await page.evaluate(async ({ url, ...config }) => {
        const { Client, webSocket } = await import('/quickgres.js');
        const client = new Client({ ...config, socket: webSocket(url) });
        await client.connect();
        const asked = [client.query('SELECT pg_sleep(600)'), client.query('SELECT 1'), client.transaction(tx => tx.query('SELECT 1'))];
        globalThis.settled = Promise.allSettled([...asked, client.closed, client.end()]);
      }, config({ url: own.url }));
      await own.stop();
      const seen = await page.evaluate(async () => {
        return (await globalThis.settled).map(({ status, reason, value }) => [status, (reason ?? value)?.name]);
      });
      assert.deepEqual(seen, [
        ['rejected', 'ConnectionError'], ['rejected', 'ConnectionError'], ['rejected', 'ConnectionError'],
        ['fulfilled', 'ConnectionError'], ['fulfilled', undefined]
      ]);
    });
  });
});
