'use strict';

// What users of HTTP servers, caches and proxies have reported. The tracker's number is beside each test.

const assert = require('node:assert/strict');
const { ResponseCache } = require('../../lib/cache');
const { respond } = require('../../lib/http');
const { representationFor } = require('../../lib/http/negotiate');
const { get, serving } = require('../http/serving');
const { connected } = require('../support');
const { table } = require('../rules/kit');

const TEXT = 'SELECT i, md5(i::text) FROM generate_series(1, 300) AS i';
const JSON_TYPE = { accept: 'application/json' };

async function cached(use) {
  const cache = new ResponseCache(await connected());
  return serving((request, response) => respond(cache, request, response, TEXT), use);
}

/** Conditions of a request, and whether the answer is then 304, given the answer's ETag. */
const CONDITIONS = {
  // jshttp/fresh#35, lukeed/sirv#177, supabase/storage#1424
  'its tag': [etag => etag, true],
  'its tag, strong': [etag => etag.slice(2), true],
  'any tag': [() => '*', true],
  'a list with it': [etag => `"a", W/"b", ${etag}`, true],
  'a list without blanks': [etag => `"a",${etag},"b"`, true],
  'another tag': [() => '"a"', false],
  'a tag with it in it': [etag => `"x${etag.slice(3)}`, false],
  'a tag without quotes': [etag => etag.replace(/W\/|"/g, ''), false],
  'nothing at all': [() => '', false]
};

/** Headers, and what respond gives of what it has (jshttp/negotiator#36, #107, #35, #62, rails/rails#33980). */
const ACCEPT = {
  'application/json; charset="utf-8, x"': 'json',
  'text/csv; header="a\\"b, c";q=0.1, application/json;q=0.5': 'json',
  'application/json;profile="http://x/y;q=0"': 'json',
  'application/json;q=1.000': 'json',
  'application/json;q=0.000': undefined,
  'application/json;profile="a': 'json',
  'text/csv ; q=0.5 , application/json ; q=0.6': 'json',
  ',,application/json,,': 'json',
  'application/vnd.api+json, */*;q=0.1': 'protocol',
  'text/csv\t;\tq=1': 'csv'
};

describe('Reports about HTTP', () => {
  table(
    'A cached answer is 304 where If-None-Match says that the reader has it',
    { condition: CONDITIONS, encoding: { identity: 'identity', gzip: 'gzip', br: 'br' } },
    ([make, isKnown], encoding) =>
      cached(async port => {
        const headers = { ...JSON_TYPE, 'accept-encoding': encoding };
        const { headers: whole } = await get(port, headers);
        const { status, headers: again, body } = await get(port, { ...headers, 'if-none-match': make(whole.etag) });
        assert.equal(status, isKnown ? 304 : 200);
        assert.equal(body.length === 0, isKnown);
        // expressjs/compression#44, jetty#8905
        assert.deepEqual(
          [again.vary, again.etag, again['cache-control']],
          [whole.vary, whole.etag, whole['cache-control']]
        );
        assert.match(again.vary, /accept-encoding/i);
      })
  );

  // caddyserver/caddy#5849, pillarjs/send#111
  it('A range of an answer is not given: the answer is whole, with status 200', () =>
    cached(async port => {
      const whole = await get(port, JSON_TYPE);
      for (const more of [{}, { 'if-range': whole.headers.etag }, { 'if-range': '"x"' }]) {
        for (const range of ['bytes=0-9', 'bytes=-1', 'bytes=5-1', 'lines=1-2', 'bytes=0-0,5-6']) {
          const { status, headers, body } = await get(port, { ...JSON_TYPE, range, ...more });
          assert.deepEqual([status, headers['content-range'], headers['accept-ranges']], [200, undefined, undefined]);
          assert.deepEqual(body, whole.body);
        }
      }
    }));

  for (const [header, expected] of Object.entries(ACCEPT)) {
    it(`Accept: ${header} is ${expected}`, () =>
      assert.equal(representationFor(header, ['protocol', 'json', 'ndjson', 'csv']), expected));
  }

  // PostgREST/postgrest#1374, #1043, #3627
  it('CSV tells NULL from an empty text, and quotes arrays, JSON and names', () =>
    connected().then(client =>
      serving(
        (request, response) =>
          respond(
            client,
            request,
            response,
            `SELECT NULL AS a, '' AS "b,c", ARRAY['x', 'y "z"'] AS "d""e", '{"k": "v"}'::json AS f, E'g\\nh' AS i ORDER BY 1`
          ),
        async port => {
          const { body } = await get(port, { accept: 'text/csv' });
          assert.equal(String(body), 'a,"b,c","d""e",f,i\n,"","{x,""y \\""z\\""""}","{""k"": ""v""}","g\nh"\n');
        }
      )
    ));

  // hapijs/hapi#1772, expressjs/compression#117
  it('HEAD has the type of GET and no body, and asks nothing', () =>
    cached(async port => {
      const { status, headers, body } = await get(port, JSON_TYPE, { method: 'HEAD' });
      const whole = await get(port, JSON_TYPE);
      assert.deepEqual([status, body.length, headers['content-type']], [200, 0, whole.headers['content-type']]);
    }));

  // vercel/next.js#96173, vercel/next.js#89091
  it('A reader that leaves in the middle of compressed answers leaves the session usable', async () => {
    const client = await connected();
    const large = 'SELECT md5(i::text) FROM generate_series(1, 200000) AS i';
    await serving(
      (request, response) => respond(client, request, response, large),
      async port => {
        for (let i = 0; i < 12; i++) {
          const controller = new AbortController();
          const headers = { 'accept-encoding': i % 2 ? 'br' : 'gzip', ...JSON_TYPE };
          const { body } = await fetch(`http://127.0.0.1:${port}/`, { headers, signal: controller.signal });
          const reader = body.getReader();
          for (let pieces = 0; pieces < i % 4; pieces++) await reader.read();
          controller.abort();
          await reader.closed.catch(() => {});
        }
        assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
      }
    );
  });
});
