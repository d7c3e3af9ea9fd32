'use strict';

// The pool's policy in virtual time, beside a model of node-postgres' pool: one query a connection, one queue. The server
// has a core for each connection, and needs the time that the test gives to each query.

const assert = require('node:assert/strict');
const { LEASE } = require('../../lib/core/internal');
const index = require('../..');
const { optionsOf } = require('../../lib/pool/options');
const { freshly } = require('./pools');

const SIZE = 10;

/** Milliseconds in which the server starts a process. */
const START = 5;

const FILES = ['known-texts', 'turns', 'connection', 'connections', 'pool-lease'].map(name =>
  require.resolve(`../../lib/pool/${name}`)
);

/** The events of a virtual time, in their order. */
class Time {
  now = 1;
  #events = []; // a heap of [time, number, callback]
  #count = 0;

  at(time, callback) {
    const events = this.#events;
    const event = [Math.max(time, this.now), ++this.#count, callback];
    let i = events.push(event) - 1;
    for (let up = (i - 1) >> 1; i > 0 && before(event, events[up]); i = up, up = (i - 1) >> 1) events[i] = events[up];
    events[i] = event;
  }

  #next() {
    const events = this.#events;
    const [first] = events;
    const last = events.pop();
    if (events.length === 0) return first;
    let i = 0;
    for (;;) {
      let down = 2 * i + 1;
      if (down + 1 < events.length && before(events[down + 1], events[down])) down++;
      if (down >= events.length || !before(events[down], last)) break;
      events[i] = events[down];
      i = down;
    }
    events[i] = last;
    return first;
  }

  /** Lets time pass until nothing more happens. Promises settle between two events. */
  async run() {
    while (this.#events.length > 0) {
      const [time, , callback] = this.#next();
      this.now = time;
      callback();
      for (let i = 0; i < 12; i++) await undefined;
    }
  }
}

const before = (one, other) => one[0] < other[0] || (one[0] === other[0] && one[1] < other[1]);

/** A generator of numbers from 0 to 1. */
function numbers(seed) {
  return () => {
    seed = (seed * 48271) % 2147483647;
    return seed / 2147483647;
  };
}

/** A connection whose server answers in virtual time, in place of a Client. */
const virtualClient = (time, trip) =>
  class {
    state = 'new';
    closed = new Promise(() => {});
    transactionStatus = 'I';
    #free = 0; // when the server has answered all

    constructor() {
      const root = { pipeline: { rejecting: 0 } };
      const socket = { flush() {} };
      const scopes = { root, active: root };
      const send = request => this.#answer(0, () => request.settle());
      const rest = {
        pending: 0,
        reads: 0,
        holds: 0,
        givenUpAt: 0,
        silentSince: 0,
        maxPipeline: Infinity,
        last: null
      };
      this[LEASE] = { pipeline: { scopes, socket, send, share() {}, ...rest } };
    }

    async connect() {
      this.state = 'connecting';
      await new Promise(resolve => time.at(time.now + 2 * trip + START, resolve));
      this.state = 'open';
    }

    /** Calls back when the answer of a query is there, for which the server needs so long. */
    #answer(needs, callback) {
      this.#free = Math.max(this.#free, time.now + trip / 2) + needs;
      time.at(this.#free + trip / 2, () => {
        this[LEASE].pipeline.reads++;
        callback();
      });
    }

    serve(needs) {
      const { pipeline } = this[LEASE];
      pipeline.pending++;
      return new Promise(resolve =>
        this.#answer(needs, () => {
          pipeline.pending--;
          resolve();
        })
      );
    }

    ref() {}
    unref() {}
  };

/** Each gives a function that asks, with a text and the milliseconds that the server needs, in virtual time. */
const POOLS = {
  ours(time, trip) {
    const performance = {
      now: () => time.now,
      nodeTiming: {
        get idleTime() {
          return time.now;
        }
      }
    };
    const { Client } = index;
    index.Client = virtualClient(time, trip);
    let PoolLease;
    try {
      const loaded = freshly(FILES, { performance, setImmediate: () => ({}) });
      ({ PoolLease } = loaded[FILES.at(-1)]);
    } finally {
      index.Client = Client;
    }
    const lease = new PoolLease({}, optionsOf({ idle_timeout: 0, max_lifetime: 0, acquire_timeout: 0 }), () => {});
    return (text, needs) => lease.run('shared', {}, (scope, client) => client.serve(needs), undefined, text);
  },
  pg(time, trip) {
    const queue = [];
    let [connections, idle, opening] = [0, 0, 0];
    const next = () => {
      while (idle > 0 && queue.length > 0) {
        const { needs, resolve } = queue.shift();
        idle--;
        time.at(time.now + trip + needs, () => {
          idle++;
          resolve();
          next();
        });
      }
      for (; connections < SIZE && opening < queue.length; connections++, opening++) {
        time.at(time.now + 2 * trip + START, () => {
          opening--;
          idle++;
          next();
        });
      }
    };
    return (text, needs) =>
      new Promise(resolve => {
        queue.push({ needs, resolve });
        next();
      });
  }
};

/** Runs a program in virtual time. @returns {Promise<object>} what it returned, and when it was over */
async function simulated(name, trip, program) {
  const time = new Time();
  const { now } = performance;
  performance.now = () => time.now;
  try {
    const ask = POOLS[name](time, trip);
    const result = program(time, async (...query) => {
      const begun = time.now;
      await ask(...query);
      return time.now - begun;
    });
    await time.run();
    return { ...(await result), end: time.now - 1 };
  } finally {
    performance.now = now;
  }
}

const times = (count, work) => Promise.all(Array.from({ length: count }, (_, i) => work(i)));

const shares = found => {
  found.sort((a, b) => a - b);
  const at = share => found[Math.min(found.length - 1, Math.floor(share * found.length))];
  return { median: at(0.5), most: at(0.99), worst: found.at(-1) };
};

/** So many loops, in which one query follows the other. */
const loops = (needs, count, queries) => async (time, ask) => {
  const found = [];
  await times(count, async () => {
    for (let i = 0; i < queries; i++) {
      const took = await ask('SELECT 1', needs);
      if (i > 3) found.push(took);
    }
  });
  return shares(found);
};

const QUICK = 0.05;
const slow = random => 5 + random() * 495;

/** What is asked in mixes: the text, and the milliseconds that the server needs. One of twenty is slow. */
const MIXES = {
  texts: (random, isSlow, i) => (isSlow ? ['slow', slow(random)] : [`quick ${i % 19}`, QUICK]),
  parameter: (random, isSlow) => ['one', isSlow ? slow(random) : QUICK],
  literals: (random, isSlow, i) => [`${i}`, isSlow ? slow(random) : QUICK],
  'lengths of all kinds': (random, isSlow, i) => [`${i % 7}`, (i % 7) ** 2 * -Math.log(random())]
};

/** 300 queries a second: how long the quick ones take. */
const mix = (kind, seed) => async (time, ask) => {
  const random = numbers(seed);
  const found = [];
  let due = 1;
  await times(700, async i => {
    due += (-Math.log(random()) * 1000) / 300;
    const isSlow = random() < 0.05;
    const query = MIXES[kind](random, isSlow, i);
    await new Promise(resolve => time.at(due, resolve));
    const took = await ask(...query);
    if (i > 150 && !isSlow) found.push(took);
  });
  return shares(found);
};

/** Fails unless ours keeps what it promises beside pg's. */
function compare(what, ours, pg, limits) {
  for (const [name, limit] of Object.entries(limits)) {
    const most = limit(pg[name]);
    assert.ok(ours[name] <= most, `${what}: ${name} ${ours[name].toFixed(2)}, pg ${pg[name].toFixed(2)}`);
  }
}

const both = async (trip, program) => [await simulated('ours', trip, program), await simulated('pg', trip, program)];

describe('The policy of a pool, in virtual time', () => {
  for (const trip of [0.1, 10]) {
    it(`answers queries of one length as pg's pool does, or sooner, at ${trip} ms of round trip`, async () => {
      const limits = { median: pg => 1.25 * pg + 0.3, most: pg => 1.5 * pg + 3, end: pg => pg / 0.85 };
      for (const needs of [0, 2, 5, 20]) {
        for (const count of [4, 10, 50]) {
          compare(`${needs} ms × ${count}`, ...(await both(trip, loops(needs, count, 12))), limits);
        }
      }
    });

    it(`answers quick queries beside slow ones as pg's pool does, or sooner, at ${trip} ms of round trip`, async () => {
      for (const kind of Object.keys(MIXES)) {
        // A text that is sometimes slow may once be in front of a quick execution of itself.
        const isMixed = kind === 'parameter';
        const most = pg => (isMixed ? 3 * pg + 10 : 2 * pg + 3);
        const worst = pg => (isMixed ? Infinity : 1.5 * pg + 50);
        const limits = { median: pg => 1.3 * pg + 0.5, most, worst };
        compare(kind, ...(await both(trip, mix(kind, 1))), limits);
      }
    });
  }

  it('answers 1,000 quick queries of a new text within 8 round trips, and in a fresh pool within 16', async () => {
    for (const first of [0, 2, 20, 80]) {
      const { fresh, warm } = await simulated('ours', 40, async (time, ask) => {
        const random = numbers(3);
        const round = async text => {
          const begun = time.now;
          // The first execution on a connection is slower: the server plans, and other programs run.
          await times(1000, i => ask(text, i < SIZE ? first * random() : QUICK / 10));
          return (time.now - begun) / 40;
        };
        return { fresh: await round('SELECT 1'), warm: await round('SELECT 2') };
      });
      assert.ok(fresh <= 16, `${fresh} round trips in a fresh pool, first executions up to ${first} ms`);
      assert.ok(warm <= 8, `${warm} round trips, first executions up to ${first} ms`);
    }
  });

  it('gives at least four times the answers of pg to quick queries, 50 at a time', async () => {
    const [ours, pg] = await both(1, loops(QUICK / 10, 50, 60));
    assert.ok(pg.end / ours.end >= 4, `${pg.end} and ${ours.end} ms`);
  });
});
