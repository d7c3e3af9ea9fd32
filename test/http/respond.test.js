'use strict';

const assert = require('node:assert/strict');
const { createHash } = require('node:crypto');
const { once } = require('node:events');
const http = require('node:http');
const http2 = require('node:http2');
const net = require('node:net');
const zlib = require('node:zlib');
const { makeCertificates } = require('pg-test-fixtures');
const { Client } = require('../..');
const { ResponseCache } = require('../../lib/cache');
const { respond } = require('../../lib/http');
const { Pool } = require('../../lib/pool');
const { table } = require('../rules/kit');
const { activity, connected, sharedServer } = require('../support');
const { LARGE, cached, direct, get, serving } = require('./serving');
const { until } = require('../support/kit');

const SMALL = 'SELECT 1 AS a';
/** More than could be read in the time that a test has: what is answered behind it shows that it was cancelled. */
const TERABYTE = "SELECT generate_series(1, 1000000000) AS i, repeat('x', 1000) AS x";
const FAILING = 'SELECT 10000000 + 1 / (50000 - i) AS a FROM generate_series(1, 100000) AS i';

const DECOMPRESS = { br: zlib.brotliDecompressSync, gzip: zlib.gunzipSync, deflate: zlib.inflateSync };

describe('respond', () => {
  it('is not for what is no response, no session, and options that there are not', async () => {
    const client = await connected();
    await assert.rejects(respond({}, {}, {}, SMALL), {
      name: 'TypeError',
      message: 'session must be a Client, a Pool, a transaction or a ResponseCache'
    });
    await assert.rejects(respond(client, {}, {}, SMALL), {
      name: 'TypeError',
      message: 'response must be one of node:http or node:http2'
    });
  });

  it('answers with a content type, and where it is known with a length', async () => {
    const client = await connected();
    const expected = await direct(client, SMALL);
    await serving(
      (request, response) => respond(client, request, response, SMALL),
      async port => {
        const { status, headers, body } = await get(port, { 'accept-encoding': 'gzip' });
        assert.deepEqual(body, expected);
        assert.equal(status, 200);
        assert.equal(headers['content-type'], 'application/x-postgresql');
        assert.equal(headers['content-length'], String(expected.length));
        assert.equal(headers['content-encoding'], undefined);
        assert.equal(headers.vary, 'Accept, Accept-Encoding');
      }
    );
  });

  it('answers from a pool', async () => {
    const pool = new Pool((await sharedServer()).config);
    try {
      await serving(
        (request, response) => respond(pool, request, response, SMALL),
        async port => {
          for (const [accept, body] of [
            ['application/json', '[{"a":1}]'],
            ['text/csv', 'a\n1\n'],
            ['application/x-ndjson', '{"a":1}\n']
          ]) {
            assert.equal(String((await get(port, { accept })).body), body);
          }
        }
      );
      const request = new Request('http://localhost/', { headers: { accept: 'text/csv' } });
      assert.equal(await (await respond(pool, request, SMALL)).text(), 'a\n1\n');
    } finally {
      await pool.end();
    }
  });

  it('answers with JSON that the server has made', async () => {
    const client = await connected();
    const handler = (request, response) =>
      respond(client, request, response, "SELECT json_build_object('a', $1::int)", [5], { as: 'values' });
    await serving(handler, async port => {
      const { headers, body } = await get(port);
      assert.equal(headers['content-type'], 'application/json; charset=utf-8');
      assert.deepEqual(JSON.parse(body), { a: 5 });
    });
  });

  table(
    'ends each body where it ends, so that the next answer of the connection is whole, whatever the handler has set',
    {
      header: {
        'a shorter length': ['content-length', '3'],
        'a longer length': ['content-length', '10000000'],
        'a transfer encoding': ['transfer-encoding', 'chunked'],
        'a trailer': ['trailer', 'x-rows'],
        both: ['transfer-encoding', 'chunked', 'trailer', 'x-rows']
      },
      body: {
        small: [SMALL, { accept: 'text/csv' }, 200],
        compressed: ["SELECT repeat('x', 5000)", { accept: 'text/csv', 'accept-encoding': 'gzip' }, 200],
        streamed: [LARGE, { accept: 'text/csv' }, 200],
        'streamed and compressed': [LARGE, { accept: 'text/csv', 'accept-encoding': 'br' }, 200],
        'not acceptable': [SMALL, { accept: 'image/png' }, 406],
        none: [SMALL, { accept: 'text/csv' }, 204],
        'that of HEAD': [SMALL, { accept: 'text/csv' }, 200, 'HEAD']
      }
    },
    async ([name, value, ...more], [text, headers, status, method]) => {
      const client = await connected();
      const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
      const handler = (request, response) => {
        response.setHeader(name, value);
        if (more.length > 0) response.setHeader(...more);
        return respond(client, request, response, text, [], status === 204 ? { status } : {});
      };
      await serving(handler, async (port, errors) => {
        const first = await get(port, headers, { agent, method });
        const second = await get(port, headers, { agent, method });
        agent.destroy();
        assert.deepEqual([first.status, second.status, errors], [status, status, []]);
        const { [first.headers['content-encoding']]: decompress = String } = DECOMPRESS;
        const [body, again] = [first, second].map(answer => String(decompress(answer.body)));
        assert.ok(body === again);
        const rows = { [SMALL]: 'a\n1\n', [LARGE]: /^i,md5\n(?:\d+,\w{32}\n){20000}$/ }[text] ?? /^repeat\nx{5000}\n$/;
        const expected = status === 406 ? /^application\/x-postgresql\n/ : status === 204 || method ? '' : rows;
        if (typeof expected === 'string') assert.equal(body, expected);
        else assert.match(body, expected);
        assert.ok(!('content-length' in first.headers && 'transfer-encoding' in first.headers));
        if (status === 200) assert.equal(first.headers.connection, 'keep-alive');
      });
    }
  );

  it('answers by HTTP/1.0, which has no trailers, where the handler has announced one', async () => {
    const client = await connected();
    const handler = (request, response) => {
      response.setHeader('trailer', 'x-rows');
      return respond(client, request, response, SMALL, [], { as: 'csv' });
    };
    await serving(handler, async (port, errors) => {
      const socket = net.connect(port, '127.0.0.1');
      socket.write('GET / HTTP/1.0\r\n\r\n');
      let text = '';
      for await (const chunk of socket) text += chunk;
      assert.deepEqual(errors, []);
      assert.match(text, /^HTTP\/1.1 200 [^]*\r\n\r\na\n1\n$/);
    });
  });

  for (const encoding of ['br', 'gzip', 'deflate']) {
    it(`compresses with ${encoding} when the request allows it`, async () => {
      const client = await connected();
      const expected = await direct(client, LARGE);
      await serving(
        (request, response) => respond(client, request, response, LARGE),
        async port => {
          const { headers, body } = await get(port, { 'accept-encoding': encoding });
          assert.equal(headers['content-encoding'], encoding);
          assert.ok(body.length < expected.length / 1.5);
          assert.ok(DECOMPRESS[encoding](body).equals(expected));
        }
      );
    });
  }

  describe('chooses by Accept', () => {
    const TEXT = "SELECT i AS n, 'x, y' AS t FROM generate_series(1, 2) i";
    const BODIES = {
      'application/json; charset=utf-8': '[{"n":1,"t":"x, y"},{"n":2,"t":"x, y"}]',
      'application/x-ndjson': '{"n":1,"t":"x, y"}\n{"n":2,"t":"x, y"}\n',
      'text/csv; charset=utf-8': 'n,t\n1,"x, y"\n2,"x, y"\n'
    };

    it('what it sends', async () => {
      const client = await connected();
      await serving(
        (request, response) => respond(client, request, response, TEXT),
        async port => {
          for (const [type, body] of Object.entries(BODIES)) {
            for (const accept of [type, `text/html, ${type.split(';')[0]};q=0.9, */*;q=0.1`]) {
              const answer = await get(port, { accept });
              const { status, headers } = answer;
              assert.deepEqual([status, String(answer.body), headers['content-type']], [200, body, type]);
              assert.equal(headers['content-length'], String(body.length));
              assert.equal(headers.vary, 'Accept, Accept-Encoding');
            }
          }
          for (const accept of ['', '*/*', 'application/*', 'text/html, */*;q=0.1']) {
            assert.equal(String((await get(port, { accept })).body), BODIES['application/json; charset=utf-8'], accept);
          }
          for (const accept of [
            'application/x-postgresql',
            '*/*, application/x-postgresql',
            'application/x-postgresql;q=0.5, application/json;q=0.4, */*;q=0.1'
          ]) {
            const { headers, body } = await get(port, { accept });
            assert.deepEqual(
              [headers['content-type'], body],
              ['application/x-postgresql', await direct(client, TEXT)],
              accept
            );
          }
          assert.equal(
            (await get(port, { accept: 'application/x-postgresql;q=0.1, */*' })).headers['content-type'],
            'application/json; charset=utf-8'
          );
        }
      );
    });

    it('among what is offered, the first where the reader does not care', async () => {
      const client = await connected();
      await serving(
        (request, response) => respond(client, request, response, TEXT, [], { as: ['csv', 'json'] }),
        async port => {
          for (const [accept, type] of [
            ['*/*', 'text/csv; charset=utf-8'],
            ['application/*', 'application/json; charset=utf-8'],
            ['application/x-ndjson, text/csv;q=0.1', 'text/csv; charset=utf-8']
          ]) {
            const { headers, body } = await get(port, { accept });
            assert.deepEqual([headers['content-type'], String(body)], [type, BODIES[type]]);
          }
        }
      );
    });

    it('and says 406 and what there is where the reader takes none of it, without asking', async () => {
      const client = await connected();
      await serving(
        (request, response) => {
          const as = request.url === '/two' ? { as: ['json', 'csv'] } : {};
          return respond(client, request, response, 'no SQL', [], as);
        },
        async (port, errors) => {
          const { status, headers, body } = await get(port, { accept: 'text/html, */*;q=0' });
          assert.deepEqual(
            [status, headers['content-type'], headers.vary],
            [406, 'text/plain; charset=utf-8', 'Accept, Accept-Encoding']
          );
          assert.equal(
            String(body),
            'application/x-postgresql\napplication/json; charset=utf-8\napplication/x-ndjson\ntext/csv; charset=utf-8\n'
          );
          const two = await get(port, { accept: 'application/x-postgresql' }, { url: '/two' });
          assert.deepEqual(
            [two.status, String(two.body)],
            [406, 'application/json; charset=utf-8\ntext/csv; charset=utf-8\n']
          );
          const head = await get(port, { accept: 'text/html' }, { method: 'HEAD' });
          assert.deepEqual([head.status, String(head.body), errors], [406, '', []]);
        }
      );
    });

    it('the type of an answer to HEAD', async () => {
      const client = await connected();
      await serving(
        (request, response) => respond(client, request, response, 'no SQL'),
        async port => {
          for (const type of Object.keys(BODIES)) {
            assert.equal((await get(port, { accept: type }, { method: 'HEAD' })).headers['content-type'], type);
          }
        }
      );
    });

    it('nothing where the handler has chosen by as, by a content type or by a binary format', async () => {
      const client = await connected();
      for (const [set, options, type, body] of [
        [{}, { as: 'csv' }, 'text/csv; charset=utf-8', BODIES['text/csv; charset=utf-8']],
        [{ 'content-type': 'a/b' }, {}, 'a/b', BODIES['application/json; charset=utf-8']],
        [{ 'content-type': 'a/b' }, { as: 'protocol' }, 'a/b', await direct(client, TEXT)],
        [{ 'content-type': 'a/b' }, { as: 'csv' }, 'a/b', BODIES['text/csv; charset=utf-8']],
        [{}, { format: Client.BINARY }, 'application/x-postgresql', undefined]
      ]) {
        await serving(
          (request, response) => {
            for (const name in set) response.setHeader(name, set[name]);
            return respond(client, request, response, TEXT, [], options);
          },
          async port => {
            const answer = await get(port, { accept: 'application/json' });
            assert.deepEqual([answer.headers['content-type'], answer.headers.vary], [type, 'Accept-Encoding']);
            if (body !== undefined) assert.equal(String(answer.body), String(body));
            const head = await get(port, { accept: 'application/json' }, { method: 'HEAD' });
            assert.deepEqual([head.headers['content-type'], head.headers.vary], [type, 'Accept-Encoding']);
          }
        );
      }
    });

    it('nothing that there is not', async () => {
      const client = await connected();
      await serving(
        (request, response) => respond(client, request, response, TEXT, [], { as: JSON.parse(request.headers.as) }),
        async (port, errors) => {
          for (const as of ['"xml"', '["json", "xml"]', '[]', 'null', '["__proto__"]']) {
            assert.equal((await get(port, { as })).status, 500);
          }
          for (const { name, message } of errors) {
            assert.deepEqual(
              [name, message],
              ['TypeError', 'as must be one of protocol, json, ndjson, csv, values, or an array of these']
            );
          }
          assert.equal(errors.length, 5);
        }
      );
    });
  });

  it('makes a strong ETag of the handler weak where it compresses, since the bytes are others', async () => {
    const client = await connected();
    await serving(
      (request, response) => {
        const { own } = request.headers;
        response.setHeader('etag', own.startsWith('[') ? JSON.parse(own) : own);
        return respond(client, request, response, request.headers.small ? 'SELECT 1 AS a' : LARGE);
      },
      async port => {
        for (const [encoding, small, own, etag] of [
          ['br', '', '"a"', 'W/"a"'],
          ['gzip', '', '"a"', 'W/"a"'],
          ['deflate', '', '"a"', 'W/"a"'],
          ['gzip', '', 'W/"a"', 'W/"a"'],
          ['gzip', '', '["\\"a\\""]', 'W/"a"'],
          ['gzip', '1', '"a"', '"a"'], // too small to be compressed
          ['identity', '', '"a"', '"a"']
        ]) {
          const { headers } = await get(port, { 'accept-encoding': encoding, small, own });
          assert.equal(headers.etag, etag, `${encoding} ${own}`);
        }
      }
    );
  });

  it('leaves alone what the handler has decided', async () => {
    const client = await connected();
    const expected = await direct(client, LARGE);
    const cases = [
      [{ 'cache-control': 'no-transform', vary: 'Origin' }, {}, { vary: 'Origin, Accept, Accept-Encoding' }],
      [{ 'cache-control': 'Public, NO-Transform', etag: '"a"' }, {}, { 'content-encoding': undefined, etag: '"a"' }],
      [{ 'content-encoding': 'identity', vary: '*' }, {}, { vary: '*', 'content-encoding': 'identity' }],
      ...['content-digest', 'repr-digest', 'digest', 'content-md5'].map(name => [
        { [name]: 'x' },
        {},
        { [name]: 'x', 'content-encoding': undefined }
      ]),
      [{ 'content-range': 'bytes 0-9/20' }, {}, { 'content-encoding': undefined }],
      [
        { 'content-type': 'text/plain' },
        { as: 'protocol', compress: false },
        { 'content-type': 'text/plain', vary: undefined }
      ],
      [{ vary: ['Origin', 'accept'] }, { compress: false }, { vary: 'Origin, accept' }],
      [{ vary: '' }, { compress: false }, { vary: 'Accept' }]
    ];
    for (const [set, options, get_] of cases) {
      await serving(
        (request, response) => {
          for (const name in set) response.setHeader(name, set[name]);
          return respond(client, request, response, LARGE, [], options);
        },
        async port => {
          const { headers, body } = await get(port, { 'accept-encoding': 'br' });
          assert.ok(body.equals(expected));
          for (const name in get_) assert.equal(headers[name], get_[name]);
          const head = await get(port, { 'accept-encoding': 'br' }, { method: 'HEAD' });
          for (const name of ['content-type', 'vary'])
            if (name in get_) assert.equal(head.headers[name], get_[name], `${name} of HEAD`);
        }
      );
    }
  });

  it('has another status for no rows', async () => {
    const client = await connected();
    const text = 'SELECT name FROM users WHERE email = $1';
    for (const [emptyStatus, length] of [
      [404, '0'],
      [204, undefined],
      [205, undefined]
    ]) {
      await serving(
        (request, response) => {
          const email = new URL(request.url, 'http://x').searchParams.get('email');
          return respond(client, request, response, text, [email], { as: 'values', status: 203, emptyStatus });
        },
        async port => {
          const found = await get(port, {}, { url: '/?email=1' });
          assert.deepEqual([found.status, found.body.toString()], [203, 'User 1']);
          const missing = await get(port, {}, { url: '/?email=x' });
          assert.deepEqual(
            [missing.status, missing.body.length, missing.headers['content-length']],
            [emptyStatus, 0, length]
          );
        }
      );
    }
  });

  it('escapes formulas of CSV if asked to', async () => {
    const client = await connected();
    const options = ({ url }) => ({ as: 'csv', formulas: url === '/null' ? null : url.slice(1) || undefined });
    await serving(
      (request, response) => respond(client, request, response, "SELECT '=1' AS a", [], options(request)),
      async (port, errors) => {
        for (const [url, body] of [
          ['/escape', `a\n"'=1"\n`],
          ['/keep', 'a\n=1\n'],
          ['/', 'a\n=1\n']
        ]) {
          assert.equal(String((await get(port, {}, { url })).body), body);
        }
        for (const url of ['/other', '/null']) await get(port, {}, { url });
        assert.deepEqual(
          errors.map(({ name, message }) => [name, message]),
          Array(2).fill(['TypeError', "formulas must be 'keep' or 'escape'"])
        );
      }
    );
  });

  it('answers to HEAD without running the query', async () => {
    const client = await connected();
    await serving(
      (request, response) => respond(client, request, response, 'no SQL'),
      async (port, errors) => {
        const { status, headers, body } = await get(port, {}, { method: 'HEAD' });
        assert.deepEqual([status, body.length, errors.length], [200, 0, 0]);
        assert.equal(headers['content-type'], 'application/x-postgresql');
      }
    );
    await serving(
      (request, response) => respond(client, request, response, 5),
      async (port, errors) => {
        await get(port, {}, { method: 'HEAD' });
        assert.match(errors[0].message, /text must be a string/);
      }
    );
  });

  it('leaves an error before the first row to the handler', async () => {
    const client = await connected();
    await serving(
      (request, response) => respond(client, request, response, 'SELECT 1 / 0'),
      async (port, errors) => {
        const { status, body } = await get(port, { 'accept-encoding': 'br' });
        assert.deepEqual([status, body.toString()], [500, '22012']);
        assert.equal(errors[0].code, '22012');
      }
    );
  });

  it('tells of an error after the first row in the body, compressed or not; values are cut off', async () => {
    const client = await connected();
    const handler = (request, response) => {
      return respond(client, request, response, FAILING, [], { as: request.url.slice(1) });
    };
    const { rows } = await import('../../client-parser/index.js');
    await serving(handler, async (port, errors) => {
      for (const encoding of ['identity', 'gzip']) {
        const response = await fetch(`http://127.0.0.1:${port}/protocol`, { headers: { 'accept-encoding': encoding } });
        let count = 0;
        await assert.rejects(
          async () => {
            for await (const row of rows(response)) count += row ? 1 : 0;
          },
          error => {
            assert.deepEqual(
              { ...error, message: error.message },
              { severity: 'ERROR', code: '22012', message: 'division by zero' }
            );
            return error.name === 'PostgresError';
          }
        );
        assert.equal(count, 49999);
        await assert.rejects(get(port, { 'accept-encoding': encoding }, { url: '/values' }), { code: 'ECONNRESET' });
      }
      await until(() => errors.length >= 4); // the reader may know before the handler does
      assert.deepEqual(
        errors.map(error => error.code),
        Array(4).fill('22012')
      );
    });
  });

  it('cuts the response off for good, also where the compressor had given nothing yet', async () => {
    const client = await connected();
    const states = [];
    const handler = async (request, response) => {
      const [, as, rows] = request.url.split('/');
      const text = `SELECT 1 / (${rows} - i) AS a FROM generate_series(1, 2 * ${rows}) AS i`;
      await respond(client, request, response, text, [], { as }).catch(error => {
        states.push([error.code, response.headersSent, response.destroyed]);
        response.end('mine'); // as a handler does that asks nothing
      });
    };
    for (const as of ['json', 'values', 'csv']) {
      for (const rows of [700, 3000, 20000]) {
        await serving(handler, async (port, errors) => {
          for (const encoding of ['identity', 'gzip', 'br', 'deflate']) {
            const answer = get(port, { 'accept-encoding': encoding }, { url: `/${as}/${rows}` });
            const left = await answer.then(
              ({ headers, body }) => [headers['content-encoding'], body.toString()],
              () => 'cut off'
            );
            if (left !== 'cut off') assert.deepEqual(left, [undefined, 'mine']);
            const [code, ...state] = states.pop();
            assert.equal(code, '22012');
            assert.deepEqual(state, left === 'cut off' ? [true, true] : [false, false]);
          }
          assert.deepEqual(errors, []);
        });
      }
    }
  });

  it('rejects or has the body fail for a Request, compressed, where the query fails after some rows', async () => {
    const client = await connected();
    for (const rows of [700, 3000, 20000]) {
      for (const encoding of ['identity', 'gzip', 'br']) {
        const request = new Request('http://localhost/', { headers: { 'accept-encoding': encoding } });
        const text = `SELECT 1 / (${rows} - i) AS a FROM generate_series(1, 2 * ${rows}) AS i`;
        await assert.rejects(async () => (await respond(client, request, text, [], { as: 'json' })).text(), {
          code: '22012'
        });
      }
    }
  });

  it('ends with an ErrorResponse, compressed, what the handler can no longer answer with, though nobody waits for that', async () => {
    const client = await connected();
    const { rows } = await import('../../client-parser/index.js');
    const { signal } = new AbortController();
    const states = [];
    await serving(
      async (request, response) => {
        const controller = new AbortController();
        const text = 'SELECT i, pg_sleep(CASE i WHEN 2000 THEN 60 ELSE 0 END) FROM generate_series(1, 4000) AS i';
        const answered = respond(client, request, response, text, [], { as: 'protocol', signal: controller.signal });
        await until(() => response.headersSent);
        controller.abort();
        await answered.catch(error => states.push([error.name, response.headersSent]));
      },
      async port => {
        const response = await fetch(`http://127.0.0.1:${port}/`, { headers: { 'accept-encoding': 'br' }, signal });
        await assert.rejects(
          async () => {
            for await (const row of rows(response)) if (row === null) return;
          },
          { name: 'PostgresError', code: '57014' }
        );
        assert.deepEqual(states, [['AbortError', true]]);
      }
    );
  });

  it('takes the least and the highest status', async () => {
    const client = await connected();
    await serving(
      (request, response) => respond(client, request, response, SMALL, [], { status: Number(request.url.slice(1)) }),
      async port => {
        for (const expected of [200, 599])
          assert.equal((await get(port, {}, { url: `/${expected}` })).status, expected);
      }
    );
  });

  it('refuses a status that is none, options that there are not and a response that was sent, before anything is set', async () => {
    const client = await connected();
    const pool = new Pool((await sharedServer()).config);
    const list =
      'as, status, emptyStatus, compress, formulas, int8, numeric, bytea, separator, stall_timeout, buffer, format, cache, paramTypes, ' +
      'signal, statement_timeout, alone, idempotent, tags, max_age, stale_while_revalidate';
    const status = name => `${name} must be an integer from 200 to 599, not `;
    const cases = [
      [client, { status: 'abc' }, `${status('status')}a string`],
      [client, { status: 199 }, `${status('status')}199`],
      [client, { status: 600 }, `${status('status')}600`],
      [client, { emptyStatus: 204.5 }, `${status('emptyStatus')}204.5`],
      [client, { emptyStatus: null }, `${status('emptyStatus')}null`],
      [client, { status: NaN }, `${status('status')}NaN`],
      [client, { emptystatus: 404 }, `there is no option emptystatus here; the options are ${list}`],
      [new ResponseCache(pool), { tag: 'a' }, `there is no option tag here; the options are ${list}`],
      [client, { readOnly: true }, /^there is no option readOnly here/],
      [pool, { tags: [] }, /^there is no option tags here/],
      [new ResponseCache(client), { readOnly: true }, /^there is no option readOnly here/],
      [client, null, 'options must be an object, not null'],
      [client, { end: false }, 'respond has no option end: it always ends the response']
    ];
    const states = [];
    await serving(
      async (request, response) => {
        const [session, options, message] = cases[Number(request.url.slice(1))];
        await assert.rejects(respond(session, request, response, SMALL, [], options), { name: 'TypeError', message });
        states.push([response.statusCode, response.getHeaderNames()]);
        const sent = { name: 'TypeError', message: 'the response was already sent' };
        response.writeHead(200);
        await assert.rejects(respond(session, request, response, SMALL), sent);
        response.end();
        await assert.rejects(respond(session, request, response, SMALL), sent);
        await assert.rejects(respond(session, new Request('http://localhost/'), SMALL, [], options), {
          name: 'TypeError',
          message
        });
      },
      async (port, errors) => {
        for (const i of cases.keys()) await get(port, {}, { url: `/${i}` });
        assert.deepEqual(errors, []);
      }
    );
    assert.deepEqual(
      states,
      cases.map(() => [200, []])
    );
    await pool.end();
  });

  it('takes the options of a pool and of a cache', async () => {
    const pool = new Pool((await sharedServer()).config);
    const own = { status: 201, emptyStatus: 404, compress: false, as: 'json' };
    for (const [session, options] of [
      [pool, { idempotent: true }],
      [new ResponseCache(pool), { tags: ['a'], max_age: 1, idempotent: true }]
    ]) {
      const response = await respond(session, new Request('http://localhost/'), SMALL, [], { ...own, ...options });
      assert.deepEqual([response.status, await response.text()], [201, '[{"a":1}]']);
    }
    await pool.end();
  });

  it('gives rows that come slowly at once, compressed or not', async () => {
    const client = await connected();
    // PostgreSQL sends when its 8 kB are full; then nothing comes for long.
    const text =
      "SELECT repeat('x', 2000), pg_sleep(CASE WHEN i < 11 THEN 0 ELSE 60 END) FROM generate_series(1, 11) AS i";
    await serving(
      (request, response) => respond(client, request, response, text),
      async port => {
        for (const [encoding, decompress] of [
          ['br', zlib.createBrotliDecompress],
          ['gzip', zlib.createGunzip],
          ['deflate', zlib.createInflate]
        ]) {
          const request = http.get({ port, host: '127.0.0.1', headers: { 'accept-encoding': encoding } });
          const [response] = await once(request, 'response');
          assert.equal(response.headers['content-encoding'], encoding);
          let length = 0;
          const plain = decompress().on('error', () => {});
          for await (const chunk of response.on('error', () => {}).pipe(plain)) {
            length += chunk.length;
            if (length >= 8192) break;
          }
          request.destroy();
        }
      }
    );
  });

  it('answers 200 concurrent requests over 4 connections, every body as a direct read gives it', async () => {
    const clients = await Promise.all([1, 2, 3, 4].map(() => connected()));
    const text = 'SELECT id, name, email, password FROM users WHERE email::int < $1 ORDER BY id';
    const expected = new Map();
    const limit = i => [0, 1, 7, 50, 300, 1000][i % 6];
    for (let i = 0; i < 6; i++) expected.set(limit(i), await direct(clients[0], text, [limit(i)]));
    let turn = 0;
    await serving(
      (request, response) => {
        return respond(clients[turn++ % 4], request, response, text, [request.url.slice(1)]);
      },
      async port => {
        const agent = new http.Agent({ keepAlive: true, maxSockets: 200 });
        await Promise.all(
          Array.from({ length: 200 }, async (_, i) => {
            const { body } = await get(port, i % 3 === 0 ? { 'accept-encoding': 'gzip' } : {}, {
              agent,
              url: `/${limit(i)}`
            });
            const bytes = i % 3 === 0 && limit(i) > 1 ? zlib.gunzipSync(body) : body;
            assert.ok(bytes.equals(expected.get(limit(i))), `request ${i}`);
          })
        );
        agent.destroy();
      }
    );
  });

  it('cancels the query of a reader that disconnects after 10 KB of a terabyte', async () => {
    const client = await connected();
    await serving(
      (request, response) => respond(client, request, response, TERABYTE, [], { alone: true }),
      async (port, errors) => {
        for (const headers of [{}, { 'accept-encoding': 'gzip' }]) {
          const request = http.get({ port, host: '127.0.0.1', headers });
          const [response] = await once(request, 'response');
          let length = 0;
          for await (const chunk of response) if ((length += chunk.length) > 10000) break;
          const next = client.query('SELECT 7 AS a');
          while ((await activity(client)) !== 'idle');
          assert.equal((await next).rows[0].a, 7);
        }
        assert.deepEqual(
          errors.map(error => error.name),
          ['AbortError', 'AbortError']
        );
      }
    );
  });

  describe('to requests that were pipelined', () => {
    /** Sends so many requests at once, by a socket of its own. */
    const send = (port, ...urls) => {
      const reader = net.connect(port, '127.0.0.1').on('error', () => {});
      reader.write(urls.map(url => `GET ${url} HTTP/1.1\r\nHost: x\r\n\r\n`).join(''));
      return reader;
    };

    it('asks in their order, whichever handler comes first', async () => {
      const client = await connected();
      let requests = 0;
      await serving(
        async (request, response) => {
          requests++;
          if (request.url === '/first') await until(() => requests === 3);
          return respond(client, request, response, LARGE, [], { as: 'values' });
        },
        async (port, errors) => {
          const { length } = await direct(client, LARGE);
          const reader = send(port, '/first', '/second', '/third');
          let text = '';
          for await (const chunk of reader)
            if ((text += chunk).endsWith('0\r\n\r\n') && text.split('HTTP/1.1 200 OK').length === 4) break;
          assert.ok(text.length > length);
          assert.deepEqual(errors, []);
        }
      );
    });

    it('leaves the connection to others when the reader takes nothing and leaves', async () => {
      const server = await sharedServer();
      const client = await connected();
      const waits = `SELECT wait_event FROM pg_stat_activity WHERE pid = ${client.processId}`;
      let waiting;
      await serving(
        (request, response) => {
          waiting ??= response;
          return respond(client, request, response, TERABYTE, [], { buffer: 0 });
        },
        async (port, errors) => {
          for (let i = 0; i < 3; i++) {
            waiting = undefined;
            const reader = send(port, '/', '/', '/');
            reader.pause();
            // Only behind a result that is known to be long is nothing sent, so that it can be cancelled.
            await until(() => waiting?.writableNeedDrain);
            await until(async () => (await server.sql(waits))[0].wait_event === 'ClientWrite');
            reader.destroy();
            assert.equal((await client.query('SELECT 7 AS a')).rows[0].a, 7);
          }
          await until(() => errors.length >= 9);
          assert.deepEqual(new Set(errors.map(({ name }) => name)), new Set(['AbortError']));
          assert.equal(client.pending, 0);
        }
      );
    });
  });

  describe('of a ResponseCache', () => {
    let clock;
    let handler;

    beforeEach(async () => {
      clock = 0;
      ({ handler } = await cached(() => clock));
    });

    it('sends the same bytes, with an ETag and what is left of the windows', () =>
      serving(handler, async port => {
        const fresh = await get(port, {}, { url: '/fresh' });
        for (const [now, control] of [
          [0, 'max-age=60, stale-while-revalidate=15'],
          [10500, 'max-age=49, stale-while-revalidate=15'],
          [65000, 'max-age=0, stale-while-revalidate=10']
        ]) {
          clock = now;
          const { headers, body } = await get(port, {}, { url: '/cached' });
          assert.equal(headers['cache-control'], `private, ${control}`);
          assert.match(headers.etag, /^W\/"[\w-]{22}"$/);
          assert.ok(body.equals(fresh.body));
        }
        assert.equal((await get(port, {}, { url: '/tagged' })).headers['cache-control'], 'private, no-cache');
        const {
          headers: { etag, 'cache-control': control }
        } = await get(port, {}, { url: '/user' });
        assert.equal(control, 'private, no-cache', 'the next user of the browser has other settings');
        assert.equal((await get(port, { 'if-none-match': etag }, { url: '/user' })).status, 304);
        assert.equal(fresh.headers.etag, undefined);
        const none = await get(port, {}, { url: '/none' });
        assert.deepEqual([none.status, none.headers.etag], [404, undefined]);
        const shown = await get(port, {}, { url: '/show' });
        assert.deepEqual(
          [shown.status, shown.headers.etag, shown.headers['cache-control']],
          [200, undefined, undefined]
        );
      }));

    it('says 304 to whom has the answer', () =>
      serving(handler, async port => {
        const {
          headers: { etag }
        } = await get(port, {}, { url: '/cached' });
        for (const known of [etag, `"x", ${etag}`, etag.slice(2), '*']) {
          const { status, headers, body } = await get(port, { 'if-none-match': known }, { url: '/cached' });
          assert.deepEqual([status, String(body), headers.etag, headers['content-type']], [304, '', etag, undefined]);
        }
        assert.equal((await get(port, { 'if-none-match': '"x"' }, { url: '/cached' })).status, 200);
        const other = await get(port, { 'if-none-match': etag }, { url: '/values' });
        assert.equal(other.status, 200, 'another form of it');
      }));

    it('compresses as without it', () =>
      serving(handler, async port => {
        const { headers, body } = await get(port, { 'accept-encoding': 'gzip' }, { url: '/cached' });
        assert.equal(headers['content-encoding'], 'gzip');
        assert.ok(zlib.gunzipSync(body).equals((await get(port, {}, { url: '/fresh' })).body));
      }));
  });

  describe('by HTTP/2', () => {
    let certificates;
    before(async () => {
      certificates = await makeCertificates();
    });

    const secure = () =>
      http2.createSecureServer({ cert: certificates.server.cert, key: certificates.server.key, allowHTTP1: true });
    const open = port => http2.connect(`https://localhost:${port}`, { rejectUnauthorized: false });

    it('answers many large requests side by side, byte for byte', async () => {
      const client = await connected();
      const text = "SELECT i, $1::text, repeat('x', 500) FROM generate_series(1, 4000) AS i";
      const expected = await Promise.all([0, 1, 2].map(i => direct(client, text, [i])));
      const clients = [client, await connected(), await connected()];
      await serving(
        (request, response) => {
          return respond(clients[Number(request.url[1])], request, response, text, [request.url[1]]);
        },
        async port => {
          const session = open(port);
          await Promise.all(
            Array.from({ length: 30 }, async (_, i) => {
              const stream = session.request({
                ':path': `/${i % 3}`,
                accept: 'application/x-postgresql',
                'accept-encoding': i % 2 ? 'br' : 'identity'
              });
              const [headers] = await once(stream, 'response');
              const chunks = await stream.toArray();
              const body = i % 2 ? zlib.brotliDecompressSync(Buffer.concat(chunks)) : Buffer.concat(chunks);
              assert.equal(headers['content-type'], 'application/x-postgresql');
              assert.equal(headers['content-encoding'], i % 2 ? 'br' : undefined);
              assert.equal(
                createHash('md5').update(body).digest('hex'),
                createHash('md5')
                  .update(expected[i % 3])
                  .digest('hex')
              );
            })
          );
          session.close();
        },
        secure()
      );
    });

    it('has statuses, lengths, no body for 204 and 205, and HEAD', async () => {
      const client = await connected();
      await serving(
        (request, response) => {
          if (request.url === '/long') return respond(client, request, response, LARGE, [], { status: 205 });
          const emptyStatus = request.url === '/3' ? 205 : 204;
          return respond(client, request, response, 'SELECT 5 WHERE $1::int = 1', [request.url.slice(1)], {
            as: 'values',
            emptyStatus
          });
        },
        async port => {
          const session = open(port);
          const ask = async headers => {
            const stream = session.request(headers);
            const [answer] = await once(stream, 'response');
            return [answer[':status'], answer['content-length'], Buffer.concat(await stream.toArray()).toString()];
          };
          assert.deepEqual(await ask({ ':path': '/1' }), [200, '1', '5']);
          assert.deepEqual(await ask({ ':path': '/2' }), [204, undefined, '']);
          assert.deepEqual(await ask({ ':path': '/3' }), [205, undefined, '']);
          assert.deepEqual(await ask({ ':path': '/long' }), [205, undefined, '']);
          assert.deepEqual(await ask({ ':path': '/1', ':method': 'HEAD' }), [200, undefined, '']);
          assert.deepEqual(await ask({ ':path': '/1', accept: 'text/html' }), [200, '1', '5'], 'as says what is sent');
          session.close();
        },
        secure()
      );
    });

    it('goes through middleware that has replaced the methods of the response, for example to compress', async () => {
      const client = await connected();
      await serving(
        (request, response) => {
          const { end, write } = response;
          const gzip = zlib.createGzip();
          response.setHeader('content-encoding', 'gzip');
          response.write = chunk => gzip.write(chunk);
          response.end = chunk => gzip.end(chunk);
          gzip.on('data', chunk => write.call(response, chunk)).on('end', () => end.call(response));
          return respond(client, request, response, LARGE, [], { as: 'values' });
        },
        async port => {
          const session = open(port);
          const body = Buffer.concat(await session.request({}).toArray());
          assert.equal(zlib.gunzipSync(body).length, 728894);
          session.close();
        },
        secure()
      );
    });

    it('chooses by Accept, and says 406, also to HEAD', async () => {
      const client = await connected();
      await serving(
        (request, response) => respond(client, request, response, 'SELECT 5 AS n'),
        async (port, errors) => {
          const session = open(port);
          const ask = async headers => {
            const stream = session.request(headers);
            const [answer] = await once(stream, 'response');
            return [answer[':status'], answer['content-type'], Buffer.concat(await stream.toArray()).toString()];
          };
          assert.deepEqual(await ask({ accept: 'text/csv' }), [200, 'text/csv; charset=utf-8', 'n\n5\n']);
          assert.deepEqual(await ask({ accept: 'application/json' }), [
            200,
            'application/json; charset=utf-8',
            '[{"n":5}]'
          ]);
          assert.equal((await ask({ accept: 'text/html' })).join().split('\n').length, 5);
          assert.deepEqual(await ask({ accept: 'text/html', ':method': 'HEAD' }), [
            406,
            'text/plain; charset=utf-8',
            ''
          ]);
          assert.deepEqual(errors, []);
          session.close();
        },
        secure()
      );
    });

    it('leaves an error before the first row to the handler, cuts values off after it', async () => {
      const client = await connected();
      await serving(
        (request, response) => {
          return respond(client, request, response, request.url === '/0' ? 'SELECT 1 / 0' : FAILING, [], {
            as: 'values'
          });
        },
        async (port, errors) => {
          const session = open(port);
          const early = session.request({ ':path': '/0' });
          assert.equal((await once(early, 'response'))[0][':status'], 500);
          early.resume();
          const late = session.request({ ':path': '/1' });
          await assert.rejects(late.toArray(), { code: 'ERR_HTTP2_STREAM_ERROR' });
          const compressed = session.request({ ':path': '/1', 'accept-encoding': 'br' });
          await assert.rejects(compressed.toArray(), { code: 'ERR_HTTP2_STREAM_ERROR' });
          await until(() => errors.length >= 3); // the reader may know before the handler does
          assert.deepEqual(
            errors.map(error => error.code),
            ['22012', '22012', '22012']
          );
          session.close();
        },
        secure()
      );
    });

    it('cancels the query of a stream that is reset', async () => {
      const client = await connected();
      await serving(
        (request, response) => respond(client, request, response, TERABYTE),
        async (port, errors) => {
          const session = open(port);
          for (let i = 0; i < 2; i++) {
            const stream = session.request({ ':path': '/' });
            await once(stream, 'data');
            stream.close(http2.constants.NGHTTP2_CANCEL);
            await until(() => errors.length > i);
            assert.equal((await client.query('SELECT 7 AS a')).rows[0].a, 7);
          }
          assert.deepEqual(
            errors.map(error => error.name),
            ['AbortError', 'AbortError']
          );
          session.destroy();
        },
        secure()
      );
    });
  });
});
