'use strict';

const assert = require('node:assert/strict');
const { validate, etagOf, cacheControl } = require('../../lib/http/validators');

/** An answer of a cache. */
function answerOf(
  text,
  { tags = [], isPersonal = false, maxAge = 60000, stale = 15000, rowCount = 1, kept = true } = {}
) {
  return { body: Buffer.from(text), rowCount, tags, isPersonal, maxAge, stale, kept };
}

/** A response that only has headers. */
function responseOf(headers = {}, statusCode = 200) {
  const set = new Map(Object.entries(headers));
  return { statusCode, set, hasHeader: name => set.has(name), setHeader: (name, value) => set.set(name, value) };
}

const OK = { status: 200, emptyStatus: 200 };
const get = (headers = {}, method = 'GET') => ({ method, headers });

describe('The entity tag of an answer', () => {
  it('is that of its bytes', () => {
    const [one, same, other] = ['a', 'a', 'b'].map(text => etagOf(answerOf(text)));
    assert.equal(one, same);
    assert.notEqual(one, other);
    assert.match(one, /^W\/"[\w-]{22}"$/);
  });
});

describe('Cache-Control of an answer', () => {
  it('lets nobody keep it longer than it would be given here', () => {
    for (const [age, header] of [
      [0, 'private, max-age=60, stale-while-revalidate=15'],
      [59001, 'private, max-age=0, stale-while-revalidate=15'],
      [70000, 'private, max-age=0, stale-while-revalidate=5'],
      [80000, 'private, max-age=0, stale-while-revalidate=0']
    ])
      assert.equal(cacheControl(answerOf('a'), age), header);
  });

  it('says what is longer than a cache can count as that', () => {
    assert.equal(
      cacheControl(answerOf('a', { maxAge: Infinity, stale: 1e30 }), 0),
      'private, max-age=2147483648, stale-while-revalidate=2147483648'
    );
  });

  it('has it asked for each time if it can be invalidated, or may be that of one user', () => {
    assert.equal(cacheControl(answerOf('a', { tags: ['t'] }), 0), 'private, no-cache');
    assert.equal(cacheControl(answerOf('a', { isPersonal: true }), 0), 'private, no-cache');
  });
});

describe('validate', () => {
  it('sets both, and knows when the reader has the answer', () => {
    const answer = answerOf('a');
    const response = responseOf();
    assert.equal(validate(get(), response, answer, 0, OK), false);
    const etag = response.set.get('etag');
    assert.ok(response.set.has('cache-control'));
    for (const [known, method, has] of [
      [etag, 'GET', true],
      [`"x", ${etag}`, 'GET', true],
      [etag.slice(2), 'GET', true],
      ['*', 'GET', true],
      ['"x"', 'GET', false],
      [etag, 'POST', false],
      ['', 'GET', false]
    ])
      assert.equal(
        validate(get({ 'if-none-match': known }, method), responseOf(), answer, 0, OK),
        has,
        `${method} ${known}`
      );
  });

  it('leaves alone what the handler has set', () => {
    const response = responseOf({ etag: '"mine"', 'cache-control': 'no-store' });
    assert.equal(validate(get({ 'if-none-match': '"mine"' }), response, answerOf('a'), 0, OK), false);
    assert.deepEqual([...response.set.values()], ['"mine"', 'no-store']);
  });

  it('does nothing for an answer that is none', () => {
    for (const [status, emptyStatus, rowCount, kept, does] of [
      [404, 404, 1, true, false],
      [200, 404, 0, true, false],
      [200, 404, 1, true, true],
      [203, 203, 1, true, true],
      [200, 200, 1, false, false]
    ]) {
      const response = responseOf();
      const request = get({ 'if-none-match': '*' });
      assert.equal(validate(request, response, answerOf('a', { rowCount, kept }), 0, { status, emptyStatus }), does);
      assert.equal(response.set.has('etag'), does, `${status} ${emptyStatus} ${rowCount} ${kept}`);
    }
  });
});
