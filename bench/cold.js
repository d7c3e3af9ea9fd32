'use strict';

// node cold.js [rounds] [--write]: what a serverless start pays: load the library, connect, read the first row. Each sample is a process of
// its own; the libraries take turns. Milliseconds from the program's first line to its row, the median of the rounds, then CPU.
// Bundles are made by esbuild, and their compilation is a part of the time. --write writes the table into README.md, between the markers.

const fs = require('node:fs');
const { execFileSync } = require('node:child_process');
const nodeModule = require('node:module');
const path = require('node:path');
const { startServer } = require('pg-test-fixtures');
const { packInto } = require('../.ci/pack');

/** Here the programs find the libraries. */
const FOLDER = path.join(__dirname, 'node_modules', '.cold');
const BIN = path.join(__dirname, 'node_modules', '.bin');
const QUICKGRES = JSON.stringify(path.join(FOLDER, 'package')); // as it is published

const quickgres = options => `const { Client } = require(${QUICKGRES});
  const client = new Client({ connectionString: url, ...${options} });
  const [, { rows: [row] }] = await Promise.all([client.connect(), client.query('SELECT 1 AS n')]);
  return row.n;`;

/** By name: what the program does with `url` and `method`, and its word for TLS without verification. */
const PROGRAMS = {
  quickgres: [quickgres('{}'), 'sslmode=require'],
  'require_auth, direct TLS': [
    quickgres("{ require_auth: method, ...url.includes('sslmode') && { sslnegotiation: 'direct' } }"),
    'sslmode=require'
  ],
  pg: [
    `const client = new (require('pg').Client)(url); await client.connect();
    return (await client.query('SELECT 1 AS n')).rows[0].n;`,
    'sslmode=no-verify'
  ],
  postgres: [
    "const sql = require('postgres')(url, { max: 1, fetch_types: false }); return (await sql`SELECT 1 AS n`)[0].n;",
    'sslmode=require'
  ],
  bun: ['const sql = new Bun.SQL(url, { max: 1 }); return (await sql`SELECT 1 AS n`)[0].n;', 'sslmode=require']
};

const SITUATIONS = [
  ['no password', 'none', 'trusted', false],
  ['SCRAM-SHA-256', 'scram-sha-256', 'scram:secret', false],
  ['SCRAM-SHA-256, TLS', 'scram-sha-256', 'scram:secret', true]
];

/** A file, since `node -e` loads modules of Node.js that a program may not need. */
const STARTER = `const begun = performance.now(), cpu = process.cpuUsage();
  require(process.env.PROGRAM)(process.env.DATABASE_URL, process.env.METHOD).then(n => {
    if (Number(n) !== 1) throw new Error('no row');
    const { user, system } = process.cpuUsage(cpu);
    console.log(JSON.stringify([performance.now() - begun, (user + system) / 1000]));
    process.exit();
  });`;

const median = list => list.sort((a, b) => a - b)[list.length >> 1];

/** @returns {Array<{name: string, runtime: string, file: string, tls: string, env: object}>} the programs, written and bundled */
function prepare() {
  fs.rmSync(FOLDER, { recursive: true, force: true });
  packInto(JSON.parse(QUICKGRES));
  fs.writeFileSync(path.join(FOLDER, 'start.js'), STARTER);
  const starts = [];
  for (const [name, [work, tls]] of Object.entries(PROGRAMS)) {
    const file = path.join(FOLDER, `${name.replace(/\W+/g, '-')}.js`);
    fs.writeFileSync(file, `module.exports = async (url, method) => { ${work} };\n`);
    const runtime = name === 'bun' ? path.join(BIN, 'bun') : process.execPath;
    starts.push({ name, runtime, file, tls, env: {} });
    if (name === 'bun') continue;
    const bundle = file.replace('.js', '.bundle.js');
    execFileSync(path.join(BIN, 'esbuild'), [
      file,
      '--bundle',
      '--minify',
      '--platform=node',
      '--external:pg-native',
      `--outfile=${bundle}`,
      '--log-level=error'
    ]);
    starts.push({ name: `${name}, bundled`, runtime, file: bundle, tls, env: {} });
    if (nodeModule.enableCompileCache === undefined) continue;
    starts.push({
      name: `${name}, bundled, compile cache`,
      runtime,
      file: bundle,
      tls,
      env: { NODE_COMPILE_CACHE: path.join(FOLDER, 'cache') }
    });
  }
  return starts;
}

/** @returns {Array<[number, number]>} medians of milliseconds and CPU by the places of the starts */
function measure(starts, rounds, url, METHOD, encrypted) {
  const samples = starts.map(() => []);
  for (let round = -1; round < rounds; round++) {
    // the first one fills caches
    for (const [index, { runtime, file, tls, env }] of starts.entries()) {
      const DATABASE_URL = encrypted ? `${url}?${tls}` : url;
      const output = execFileSync(runtime, [path.join(FOLDER, 'start.js')], {
        env: { ...process.env, ...env, PROGRAM: file, DATABASE_URL, METHOD },
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'inherit']
      });
      if (round >= 0) samples[index].push(JSON.parse(output));
    }
  }
  return samples.map(list => [0, 1].map(at => median(list.map(each => each[at]))));
}

async function main(rounds, write) {
  const server = await startServer({
    external: false,
    auth: 'scram-sha-256',
    tls: true,
    users: { scram: { password: 'secret' }, trusted: {} },
    hba: [
      'local all all trust',
      'host all trusted all trust',
      'host all fixtures all trust',
      'host all scram all scram-sha-256'
    ]
  });
  const starts = prepare();
  const lines = [
    `| load, connect, first row: ms (CPU), Node.js ${process.version.slice(1)} | ${SITUATIONS.map(([name]) => name).join(' | ')} |`,
    `|---|${'---:|'.repeat(SITUATIONS.length)}`
  ];
  try {
    const found = SITUATIONS.map(([, method, user, encrypted]) =>
      measure(starts, rounds, `postgresql://${user}@127.0.0.1:${server.port}/${server.database}`, method, encrypted)
    );
    starts.forEach(({ name }, at) => {
      lines.push(`| ${name} | ${found.map(each => each[at].map(ms => ms.toFixed(1)).join(' (')).join(') | ')}) |`);
    });
  } finally {
    await server.stop();
    fs.rmSync(FOLDER, { recursive: true, force: true });
  }
  console.log(lines.join('\n'));
  if (!write) return;
  const readme = path.join(__dirname, 'README.md');
  const text = fs.readFileSync(readme, 'utf8');
  const from = text.indexOf('\n', text.indexOf('<!-- made by bench/cold.js'));
  fs.writeFileSync(
    readme,
    `${text.slice(0, from)}\n${lines.join('\n')}\n${text.slice(text.indexOf('<!-- end of cold'))}`
  );
}

main(Number(process.argv[2]) || 21, process.argv.includes('--write'));
