'use strict';

// The command: see README.md.

const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { openDatabase } = require('./database');
const { compileLibpq } = require('./libpq');
const { Progress } = require('./progress');
const report = require('./report');
const workloads = require('./workloads');

const CLIENTS = ['floor', 'libpq', 'quickgres', 'against', 'module', 'pg', 'pg-pipeline', 'postgres', 'bun'];
const LINKS = ['unix', 'tcp', 'tls', 'link'];

const FULL = { rounds: 3, warmup: 0.5, seconds: 1, rows: 300000, pending: 1000000, timeout: 60 };
const QUICK = { rounds: 1, warmup: 0, seconds: 0, rows: 5000, pending: 5000, timeout: 10 };

/** A quick run leaves out what does not fit into so many seconds. */
const QUICK_SECONDS = 52;

const HELP = `npm run bench -- [options]
  --quick           everything, but small: done in a minute, good only to see that it works
  --everything      all that README.md and the guides publish: this and the programs beside it; at the end, what has moved
                    by more than 5 % since the results in the repository; with --quick each for a short time
  --only NAME,…     workloads, each with the link it goes over if you like: rows-objects,select-pipelined@tls
  --published       the workloads of README.md's table: their tables replace those in results.json, the others stay
  --part N/OF       a part of everything, likewise
  --clients NAME,…  ${CLIENTS.join(', ')}
  --against DIR     another checkout of this library, measured in turn with this one as client "against"; by itself
                    together with this one and the floor
  --module PATH     a module with the interface of kig/quickgres 0.4, measured as client "module"
  --rounds N        times that each measurement is made (${FULL.rounds})
  --seconds S       that each measurement takes (${FULL.seconds}), after
  --warmup S        of the same that do not count (${FULL.warmup})
  --rows N          rows of the large results (${FULL.rows})
  --pending N       queries pending at once (${FULL.pending})
  --timeout S       after which a measurement is given up (${FULL.timeout})
  --out DIRECTORY   of the results (results)
  --list            workloads and clients, and nothing else
Links: ${LINKS.join(', ')}.`;

const number = { type: 'string' };
const OPTIONS = {
  quick: { type: 'boolean' },
  everything: { type: 'boolean' },
  list: { type: 'boolean' },
  help: { type: 'boolean' },
  only: { type: 'string' },
  published: { type: 'boolean' },
  part: { type: 'string', default: '1/1' },
  clients: { type: 'string' },
  module: { type: 'string' },
  against: { type: 'string' },
  out: { type: 'string', default: path.join(__dirname, 'results') },
  rounds: number,
  seconds: number,
  warmup: number,
  rows: number,
  pending: number,
  timeout: number
};

/** The command line, checked. */
function readOptions() {
  const { values } = parseArgs({ options: OPTIONS });
  const options = { ...(values.quick ? QUICK : FULL), ...values };
  for (const name of Object.keys(FULL)) {
    options[name] = Number(options[name]);
    if (!(options[name] >= 0)) throw new Error(`--${name} must be a number`);
  }
  options.module = values.module && path.resolve(values.module);
  options.against = values.against && path.resolve(values.against);
  options.clients = (values.clients || (values.against ? 'floor,quickgres' : CLIENTS.join())).split(',');
  for (const name of ['module', 'against']) {
    if (!options[name]) options.clients = options.clients.filter(each => each !== name);
    else if (!options.clients.includes(name)) options.clients.push(name);
  }
  for (const name of options.clients) if (!CLIENTS.includes(name)) throw new Error(`no client ${name}`);
  const only = values.only?.split(',') ?? (values.published && Object.keys(report.PUBLISHED));
  options.tables = only
    ? only.map(chosen)
    : Object.entries(workloads).flatMap(([workload, { links }]) => links.map(link => ({ workload, link })));
  const [part, parts] = values.part.split('/').map(Number);
  if (!(part > 0 && part <= parts)) throw new Error('--part must be like 1/3');
  options.isPart = parts > 1 || values.published === true;
  options.tables = options.tables.filter((_, index) => index % parts === part - 1);
  options.name = values.quick ? 'quick' : values.only || values.clients || values.against ? 'partial' : 'results';
  return options;
}

/** A workload as --only names it. */
function chosen(name) {
  const [workload, where] = name.split('@');
  if (!workloads[workload]) throw new Error(`no workload ${workload}: see --list`);
  const link = where || workloads[workload].links[0];
  if (!LINKS.includes(link)) throw new Error(`no link ${link}`);
  return { workload, link };
}

/** Bun's program, if it is there. */
function findBun() {
  const bun = path.join(path.dirname(require.resolve('bun/package.json')), 'bin/bun.exe');
  try {
    return { program: bun, version: execFileSync(bun, ['--version'], { encoding: 'utf8' }).trim() };
  } catch {
    return { missing: 'Bun is not installed' };
  }
}

/** What runs a client: `{ command, version }`, or `{ missing: reason }`. */
function findRunners(temporary, options) {
  const version = name => require('./package.json').devDependencies[name];
  const bun = findBun();
  const node = { command: [process.execPath] };
  const runners = {
    floor: { ...node, version: process.version.slice(1) },
    quickgres: { ...node, version: require('../package.json').version },
    against: { ...node, version: options.against || '' },
    module: { ...node, version: '' },
    pg: { ...node, version: version('pg') },
    'pg-pipeline': { ...node, version: version('pg') },
    postgres: { ...node, version: version('postgres') },
    bun: bun.missing ? bun : { command: [bun.program], version: bun.version }
  };
  if (options.clients.includes('libpq')) runners.libpq = compileLibpq(temporary);
  return runners;
}

/**
 * Runs a program that prints a line of JSON.
 * @param {string[]} command
 * @param {number} timeout seconds
 * @param {object} env
 */
function runProgram([program, ...args], timeout, env) {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'])
    child[name].on('data', chunk => {
      output[name] += chunk;
    });
  // Node.js 26 sometimes never ends in process.exit(): a compiling thread of V8 waits for the main one, which waits for it.
  child.stdout.on('data', () => {
    if (output.stdout.endsWith('\n')) child.kill('SIGKILL');
  });
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    child.kill('SIGKILL');
  }, timeout * 1000);
  return new Promise(resolve => {
    child.on('error', error => resolve({ failed: error.message }));
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      if (late) return resolve({ failed: `not done in ${timeout} s` });
      try {
        return resolve(JSON.parse(output.stdout));
      } catch {
        return resolve({ failed: whatFailed(output.stderr) || `ended by ${signal || code}` });
      }
    });
  });
}

/** What a program that crashed has said. */
function whatFailed(stderr) {
  if (/heap out of memory/.test(stderr)) return 'out of memory';
  const [line] = /^\S*Error\b.*$/m.exec(stderr) || [''];
  return line;
}

/** Sums of what several processes have found that ran side by side. */
function together(results) {
  const bad = results.find(result => !result.operations);
  if (bad) return bad;
  const sum = value => results.reduce((total, result) => total + value(result), 0);
  const operations = sum(result => result.operations);
  return {
    operations,
    seconds: operations / sum(result => result.operations / result.seconds),
    user: sum(result => result.user),
    system: sum(result => result.system),
    memory: sum(result => result.memory)
  };
}

/** The day and the commit of what is measured, with `-dirty` if files differ from it. */
function origin() {
  const git = ['describe', '--always', '--dirty', '--exclude', '*'];
  return {
    date: new Date().toISOString().slice(0, 10),
    commit: execFileSync('git', git, { cwd: __dirname, encoding: 'utf8' }).trim()
  };
}

class Bench {
  constructor(options, temporary) {
    this.options = { ...options, of: origin() };
    this.temporary = temporary;
    this.runners = findRunners(temporary, options);
    this.adapters = {};
    for (const name of options.clients) this.adapters[name] = require(`./clients/${name}`);
  }

  /** Why a client does not do a workload, if it does not. */
  cannot(client, { workload, link }) {
    const { missing } = this.runners[client];
    const { cannot = {} } = this.adapters[client];
    return missing || cannot[workload] || cannot[`${workload}@${link}`];
  }

  /** One measurement. */
  async measure(client, { workload: name, link }) {
    const { warmup, seconds, rows, pending, timeout } = this.options;
    const { ids, targets } = this.database;
    const workload = workloads[name];
    const target = targets[link];
    const spec = { client, workload: name, target, ids, rows, pending, seconds };
    // A quick run warms nothing up.
    spec.warmup = warmup > 0 ? Math.max(warmup, workload.warmup || 0) : 0;
    const { command, args } = this.runners[client];
    const flags = workload.kept && client !== 'bun' ? ['--expose-gc'] : [];
    const { module = '', against = '' } = this.options;
    const env = { ...process.env, BENCH_MODULE: module, BENCH_AGAINST: against };
    const processes = Array.from({ length: workload.processes || 1 }, (_, index) => {
      if (args) return runProgram([...command, ...args(spec)], timeout, env);
      const file = path.join(this.temporary, `measurement-${index}.json`);
      fs.writeFileSync(file, JSON.stringify({ ...spec, process: index }));
      return runProgram([...command, ...flags, path.join(__dirname, 'measure.js'), file], timeout, env);
    });
    return together(await Promise.all(processes));
  }

  /** All measurements of one table, clients in turn, the other way round in every second round. */
  async table({ workload, link }, progress) {
    const place = { workload, link };
    const runs = Object.fromEntries(this.options.clients.map(client => [client, []]));
    const failed = {};
    for (let round = 0; round < this.options.rounds; round++) {
      const order = this.options.clients.filter(client => !this.cannot(client, place));
      for (const client of round % 2 ? order.reverse() : order) {
        progress.step(`${workload}${link === 'unix' ? '' : `@${link}`} · ${client} · round ${round + 1}`);
        if (failed[client] || this.outOfTime()) continue;
        const result = await this.measure(client, place);
        if (result.operations) runs[client].push(result);
        else failed[client] = result.cannot || result.failed;
      }
    }
    return report.table(
      place,
      this.options,
      this.options.clients.map(client => {
        const { label, labels = {} } = this.adapters[client];
        const cannot = this.cannot(client, place) || failed[client] || 'no time left';
        return { client, label: labels[workload] || label, runs: runs[client], cannot };
      })
    );
  }

  outOfTime() {
    return this.options.quick && (performance.now() - this.started) / 1000 > QUICK_SECONDS;
  }

  /** Runs everything, prints the tables as they come, writes them at the end. */
  async run() {
    this.started = performance.now();
    const { tables: places, clients, rounds, rows } = this.options;
    const steps = places.map(place => clients.filter(client => !this.cannot(client, place)).length * rounds);
    const progress = new Progress(steps.reduce((sum, count) => sum + count, 0));
    progress.say('starting PostgreSQL, loading the data');
    this.database = await openDatabase(rows);
    this.options.wire = this.database.wire;
    const tables = [];
    try {
      for (const place of places) {
        const table = await this.table(place, progress);
        tables.push(table);
        progress.clear();
        console.log(`\n${report.text(table)}`);
      }
    } finally {
      progress.clear();
      await this.database.stop();
    }
    const results = { machine: this.machine(), options: this.settings(), tables };
    report.write(results, this.options.out, this.options.name, this.options.isPart);
    const file = path.join(path.relative('.', this.options.out), this.options.name);
    console.log(
      `\n${this.options.against ? report.against(tables) : report.aims(tables)}\n${file}.json, .md and .svg have been written.`
    );
  }

  settings() {
    return {
      ...Object.fromEntries(Object.keys(FULL).map(name => [name, this.options[name]])),
      wire: this.options.wire
    };
  }

  machine() {
    const [{ model }] = os.cpus();
    const versionOf = name => this.runners[name].version || this.runners[name].missing || '';
    const versions = this.options.clients.map(name => [name, versionOf(name)]);
    return {
      cpu: `${os.cpus().length} × ${model.trim()}`,
      memory: `${Math.round(os.totalmem() / 2 ** 30)} GiB`,
      system: `${os.type()} ${os.release()}`,
      node: process.version,
      postgresql: this.database.version,
      load: os.loadavg()[0].toFixed(1),
      versions: Object.fromEntries(versions)
    };
  }
}

async function main() {
  const options = readOptions();
  if (options.help) return console.log(HELP);
  if (options.everything)
    return require('./everything').main(process.argv.slice(2).filter(option => option !== '--everything'));
  if (options.list) {
    for (const [name, { title, links }] of Object.entries(workloads)) {
      console.log(`${name.padEnd(20)} ${links.join(' ').padEnd(14)} ${report.title(title, options)}`);
    }
    return console.log(`\nclients: ${CLIENTS.join(', ')}`);
  }
  const temporary = fs.mkdtempSync(path.join(os.tmpdir(), 'quickgres-bench-'));
  try {
    process.env.BENCH_MODULE = options.module || '';
    process.env.BENCH_AGAINST = options.against || '';
    await new Bench(options, temporary).run();
    if (options.name !== 'results' || options.isPart) return;
    await require('./page/run').main(['--write']);
    execFileSync(process.execPath, [path.join(__dirname, 'distance.js'), '--write'], { stdio: 'inherit' });
  } finally {
    fs.rmSync(temporary, { recursive: true, force: true });
  }
}

main().catch(error => {
  console.error(error.stack);
  process.exitCode = 1;
});
