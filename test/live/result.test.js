'use strict';

const assert = require('node:assert/strict');
const { setImmediate: turn } = require('node:timers/promises');
const { LEASE } = require('../../lib/core/internal');
const { Held } = require('../../lib/live/held');
const { Result } = require('../../lib/live/result');
const { turns } = require('../../lib/live/turns');
const { backend } = require('../../lib/core/protocol');
const { commandComplete, dataRow, rowDescription } = require('../support');
const { messagesIn, until } = require('./serving');

const ABOUT = { text: 'SELECT', tags: ['a'] };
const outage = () => Object.assign(new Error('gone'), { name: 'ConnectionError' });

/** A result whose answers are these rows, errors or command tags, one after the other, or promises of them; and what it reports. */
function resultOf(...answers) {
  const made = { reported: [], times: [], interval: 0 };
  const submit = async ({ receiver: answer, text }) => {
    assert.equal(text, ABOUT.text);
    made.times.push(performance.now());
    const given = await answers.shift();
    if (given instanceof Error) throw given;
    const [description, rows, tag] =
      typeof given === 'string' ? [null, [], given] : [{ description: () => rowDescription('a') }, given, 'SELECT 1'];
    answer.start(description, 0);
    const bytes = Buffer.concat(rows.map(value => dataRow(value)));
    answer.receiveData(bytes, 0, bytes.length, rows.length);
    const end = commandComplete(tag);
    answer.receive(backend.CommandComplete, end, 0, end.length);
  };
  const scope = {
    pipeline: { submit },
    get sendsIn() {
      return scope;
    }
  };
  const live = {
    get interval() {
      return made.interval;
    },
    max_bytes: 1e6,
    max_rows: 10,
    held: new Held(),
    turn: turns(1),
    doubt: () => made.doubts++,
    report: (...error) => made.reported.push(error)
  };
  made.result = new Result({ session: { [LEASE]: scope }, text: ABOUT.text, values: [], limits: {} }, ABOUT.tags, live);
  return made;
}

/** A reader that remembers what it was shown, as texts, and how it was ended. */
function readerOf() {
  const reader = {
    shown: [],
    ended: [],
    state: undefined,
    show(state) {
      if (state !== reader.state) reader.shown.push(messagesIn(state.from()).list.slice(1, -1).join());
      reader.state = state;
    },
    end: error => reader.ended.push(error)
  };
  return reader;
}

/** Waits until another result with this interval has been asked for again. */
async function again(interval) {
  const beside = resultOf(['x'], ['y']);
  const reader = readerOf();
  beside.interval = interval;
  beside.result.add(reader);
  await until(() => reader.shown.length === 1);
  beside.result.changed();
  await until(() => beside.times.length === 2);
  await turn();
}

describe('A result', () => {
  it('shows its state to each reader, and the next one if it differs', async () => {
    const { result, times } = resultOf(['x'], ['x'], ['y']);
    const [first, second, late] = [readerOf(), readerOf(), readerOf()];
    result.add(first);
    result.add(second);
    await until(() => second.shown.length === 1);
    const { state } = result;
    result.changed();
    await until(() => times.length === 2);
    await turn();
    assert.equal(result.state, state);
    result.add(late);
    result.changed();
    await until(() => late.shown.length === 2);
    assert.deepEqual(
      [first, second, late].map(({ shown }) => shown.join()),
      ['D x,D y', 'D x,D y', 'D x,D y']
    );
    assert.equal(times.length, 3);
  });

  it('asks again if something has changed while it was asked for, once, and not before the interval', async () => {
    let answer;
    const made = resultOf(
      new Promise(resolve => {
        answer = resolve;
      }),
      ['y']
    );
    const reader = readerOf();
    made.interval = 40;
    made.result.add(reader);
    for (let i = 0; i < 9; i++) made.result.changed();
    await turn();
    assert.equal(made.times.length, 1);
    answer(['x']);
    await until(() => reader.shown.length === 2);
    assert.ok(made.times[1] - made.times[0] > 39);
    await again(40);
    assert.equal(made.times.length, 2);
  });

  it('is not asked for without readers, after the interval and at its turn', async () => {
    const made = resultOf(['x'], ['y'], ['z']);
    const reader = readerOf();
    made.interval = 30;
    made.result.add(reader);
    await until(() => reader.shown.length === 1);
    made.result.changed();
    made.result.remove(reader);
    await again(30);
    assert.equal(made.times.length, 1);
  });

  it('gives its first error to its readers, and begins anew for the next one', async () => {
    const made = resultOf(outage(), 'INSERT', ['x']);
    const { result, reported } = made;
    made.interval = 1e9; // for which it does not rest
    for (const message of ['gone', 'a live result is that of a SELECT that returns rows, not of INSERT']) {
      const reader = readerOf();
      result.add(reader);
      await until(() => reader.ended.length === 1);
      assert.equal(reader.ended[0].message, message);
      assert.equal(result.readers.size, 0);
    }
    const reader = readerOf();
    result.add(reader);
    await until(() => reader.shown.length === 1);
    assert.deepEqual(reported, []);
  });

  it('keeps readers and their state in an outage, and sends them away after another error', async () => {
    const { result, reported, times } = resultOf(['x'], outage(), ['y'], new Error('no'), ['z']);
    const reader = readerOf();
    result.add(reader);
    await until(() => reader.shown.length === 1);
    result.changed();
    await until(() => reader.shown.length === 2);
    assert.ok(times[2] - times[1] > 999);
    assert.deepEqual([reported.map(([{ message }, about]) => [message, about]), reader.ended], [[['gone', ABOUT]], []]);
    result.changed();
    await until(() => reader.ended.length === 1);
    const next = readerOf();
    result.add(next);
    await until(() => next.shown.length === 1);
    assert.deepEqual([reader.shown.join(), next.shown.join(), reported.length], ['D x,D y', 'D z', 2]);
  });

  it('is none of a command that gives no rows, though it is called SELECT', async () => {
    const { result } = resultOf('SELECT');
    const reader = readerOf();
    result.add(reader);
    await until(() => reader.ended.length === 1);
    assert.deepEqual(
      [reader.ended[0].code, reader.ended[0].message],
      ['0A000', 'a live result is that of a SELECT that returns rows, not of SELECT']
    );
  });
});
