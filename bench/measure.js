'use strict';

// One measurement in a process of its own: argv[2] is its description, JSON; the result is a line of JSON.

const fs = require('node:fs');
const workloads = require('./workloads');

/** The process's largest resident size so far, in KiB. */
function peakMemory() {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(fs.readFileSync('/proc/self/status', 'utf8'))[1]);
  } catch {
    return process.resourceUsage().maxRSS;
  }
}

async function main({ client, workload: name, target, warmup, duration, rows, ids }) {
  const workload = workloads[name];
  const session = await require(`./clients/${client}`).open(target);
  if (workload.needs && !session[workload.needs]) {
    await session.end();
    return { cannot: workload.needs };
  }
  const context = { ids, rows };
  const repeat = async seconds => {
    const start = performance.now();
    let turns = 0;
    do {
      await workload.turn(session, context);
      turns++;
    } while (performance.now() - start < seconds * 1000);
    return { turns, seconds: (performance.now() - start) / 1000 };
  };
  await repeat(warmup);
  const before = process.cpuUsage();
  const { turns, seconds } = await repeat(duration);
  const { user, system } = process.cpuUsage(before);
  const operations = turns * (workload.operations === 'rows' ? rows : workload.operations);
  const result = { operations, seconds, cpu: user + system, user, system, memory: peakMemory() };
  await session.end();
  return result;
}

main(JSON.parse(process.argv[2])).then(result => {
  process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));
}, error => {
  process.stderr.write(`${error.stack}\n`, () => process.exit(1));
});
