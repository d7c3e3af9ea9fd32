'use strict';

// One measurement, in a process of its own. Its description comes as JSON in the file argv[2] names; what it
// has found goes out as a line of JSON: { operations, seconds, user, system, memory } (CPU in microseconds,
// memory in KiB), { cannot: reason } or { failed: message }.

const fs = require('node:fs');

/** The largest resident size of this process so far, in KiB. */
function peakMemory() {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(fs.readFileSync('/proc/self/status', 'utf8'))[1]);
  } catch {
    return process.resourceUsage().maxRSS;
  }
}

/** What is in use after a garbage collection, in KiB. */
function usedMemory() {
  if (typeof Bun !== 'undefined') {
    Bun.gc(true);
    return process.memoryUsage().rss / 1024;
  }
  global.gc();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1024;
}

/** Calls `turn` again and again, for so many seconds. */
async function repeat(turn, seconds) {
  const start = performance.now();
  let count = 0;
  do {
    await turn();
    count++;
  } while (performance.now() - start < seconds * 1000);
  return count;
}

/** Does `work` and tells what it took. */
async function measure(work) {
  const start = performance.now();
  const before = process.cpuUsage();
  const turns = await work();
  const { user, system } = process.cpuUsage(before);
  return { turns, user, system, seconds: (performance.now() - start) / 1000 };
}

/** What turns are done with: a session, a list of them, or the client itself. */
function openSessions(workload, adapter, target) {
  if (workload.own) return adapter;
  if (workload.pool) return adapter.openPool(target);
  if (!workload.connections) return adapter.open(target);
  return Promise.all(Array.from({ length: workload.connections }, () => adapter.open(target)));
}

const METHODS = {
  'select-batch': 'batch',
  cursor: 'cursor',
  'copy-out-iterated': 'copyLoop',
  'early-exit': 'firstOf',
  cancel: 'running',
  'pass-one': 'passEach',
  'pass-one-pipelined': 'passEach',
  'query-to-one': 'passEachTo',
  'query-to-one-pipelined': 'passEachTo',
  'pass-hundred': 'passEach',
  'pass-hundred-pipelined': 'passEach'
};

/** Loading is measured where nothing has loaded modules of Node.js that libraries need: net, tls, crypto. */
async function load(adapter) {
  const result = await measure(async () => {
    adapter.load();
    return 1;
  });
  return { ...result, operations: 1, memory: peakMemory() };
}

async function main(spec) {
  const adapter = require(`./clients/${spec.client}`);
  if (spec.workload === 'require') return load(adapter);
  const workload = require('./workloads')[spec.workload];
  const context = { ...spec, adapter };
  if (workload.pool && !adapter.openPool) return { cannot: 'has no pool' };
  const sessions = await openSessions(workload, adapter, spec.target);
  const method = METHODS[spec.workload];
  if (method && !sessions[method]) return { cannot: `has no ${method}` };
  const turn = () => workload.turn(sessions, context);

  let result;
  if (workload.once) {
    if (!workload.own && spec.warmup > 0) await warm(sessions, context, spec.warmup);
    const used = workload.kept ? usedMemory() : 0;
    result = await measure(async () => {
      await turn();
      return 1;
    });
    result.memory = workload.kept ? usedMemory() - used : peakMemory();
  } else {
    if (spec.warmup > 0) await repeat(turn, spec.warmup);
    result = await measure(() => repeat(turn, spec.seconds));
    result.memory = peakMemory();
  }
  const { operations } = workload;
  result.operations = result.turns * (typeof operations === 'number' ? operations : context[operations]);
  if (!workload.own) await Promise.all([sessions].flat().map(session => session.end()));
  return result;
}

/** What is done once is not to be measured cold. */
async function warm(session, context, seconds) {
  await repeat(() => require('./workloads')['select-pipelined'].turn(session, context), seconds);
}

/** Writes the result, and ends whatever is still open. */
function finish(result) {
  process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));
}

main(JSON.parse(fs.readFileSync(process.argv[2]))).then(finish, error => {
  finish({ failed: String((error && error.message) || error) });
});
