'use strict';

// node pending.js: what V8 alone takes for a million promises that are pending at once, and for a thousand at a time: an object of eight
// fields, a promise, the caller's `then`, as a query has them. No database and nothing of the library.

const CPU = () => process.cpuUsage().user + process.cpuUsage().system;

async function turn(count) {
  const queue = [];
  let left = count;
  await new Promise(done => {
    for (let i = 0; i < count; i++) {
      const request = { values: [`${i}`], next: null, scope: queue, state: 0, error: undefined, result: undefined, resolve: null };
      new Promise(resolve => { request.resolve = resolve; }).then(of => of.result).then(() => { if (--left === 0) done(); });
      queue.push(request);
    }
    setImmediate(() => { for (const request of queue) request.resolve(request); });
  });
}

async function main(total) {
  for (const count of [1000, total]) {
    for (let i = 0; i < 200; i++) await turn(1000); // compiled
    const before = CPU();
    for (let i = 0; i < total; i += count) await turn(count);
    console.log(`${count} pending: ${((CPU() - before) / total).toFixed(2)} µs each, at most ${process.resourceUsage().maxRSS >> 10} MiB`);
  }
}

main(1e6);
