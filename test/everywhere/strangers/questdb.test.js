'use strict';

const assert = require('node:assert/strict');
const { spawn, spawnSync } = require('node:child_process');
const crypto = require('node:crypto');
const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { Client } = require('../../..');
const { stranger } = require('../../support/stranger');

const VERSION = '9.3.4';
const JAR = path.join(__dirname, `../node_modules/questdb-${VERSION}.jar`);
const SOURCE = `https://repo1.maven.org/maven2/org/questdb/questdb/${VERSION}/questdb-${VERSION}.jar`;
const SHA256 = '939bc53ab22f93dbaa6545143a6e7c536d4904c07b7f2d381e8eef10436be062';

/** Gets the server from Maven Central, unless it is there. */
async function download() {
  if (fs.existsSync(JAR)) return;
  const response = await fetch(SOURCE);
  if (!response.ok) throw new Error(`${SOURCE}: ${response.status}`);
  const jar = Buffer.from(await response.arrayBuffer());
  assert.equal(crypto.createHash('sha256').update(jar).digest('hex'), SHA256, SOURCE);
  fs.writeFileSync(`${JAR}.part`, jar);
  fs.renameSync(`${JAR}.part`, JAR);
}

async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  await new Promise(resolve => server.close(resolve));
  return port;
}

/** @returns {Promise} when somebody listens there */
async function listening(port, java) {
  while (java.exitCode === null) {
    const socket = net.connect(port, '127.0.0.1');
    const open = await Promise.race([
      once(socket, 'connect').then(
        () => true,
        () => false
      ),
      sleep(1000, false)
    ]);
    socket.destroy();
    if (open) return;
    await sleep(100);
  }
  throw new Error(`QuestDB ended with ${java.exitCode}`);
}

before(async function () {
  this.timeout(300000);
  if (spawnSync('java', ['-version']).status !== 0) {
    if (process.env.CI) throw new Error('java is not installed (Debian package default-jre-headless)');
    return this.skip();
  }
  await download();
});

stranger({
  name: `QuestDB ${VERSION}`,
  lacks: {
    'a failed batch': /0 !== 1/, // it tells of the error before it answers what comes before it
    savepoint: /unexpected ErrorResponse/, // it refuses SAVEPOINT, and goes on with what comes behind it
    'COPY TO': /supported formats: 'parquet'/,
    'COPY FROM': /unexpected CommandComplete/,
    listen: /table does not exist \[table=LISTEN\]/
  },
  slow: 'SELECT count(*) FROM long_sequence(20000000000) WHERE x % 7 = 3',
  series: 'SELECT x FROM long_sequence(100)',
  async start() {
    const root = fs.mkdtempSync(path.join(os.tmpdir(), 'questdb-'));
    const port = await freePort();
    fs.mkdirSync(path.join(root, 'conf'));
    fs.writeFileSync(
      path.join(root, 'conf/server.conf'),
      [
        `pg.net.bind.to=127.0.0.1:${port}`,
        'telemetry.enabled=false',
        ...['http', 'http.min', 'line.tcp', 'line.udp'].map(name => `${name}.enabled=false`)
      ].join('\n')
    );
    const java = spawn('java', ['-XX:+UseSerialGC', '-p', JAR, '-m', 'io.questdb/io.questdb.ServerMain', '-d', root], {
      stdio: 'ignore'
    });
    await listening(port, java);
    return {
      config: { host: '127.0.0.1', port, user: 'admin', password: 'quest', database: 'qdb', sslmode: 'disable' },
      async stop() {
        java.kill('SIGKILL');
        if (java.exitCode === null && java.signalCode === null) await once(java, 'exit');
        fs.rmSync(root, { recursive: true, force: true });
      }
    };
  },
  parts: [
    'simpleQuery',
    'parameters',
    'prepared statements',
    'typed in one round trip',
    'binary results',
    'queries at once',
    'errors',
    'batch',
    'a failed batch',
    'transaction',
    'savepoint',
    'cursor',
    'queryTo',
    'COPY TO',
    'COPY FROM',
    'listen',
    'cancelling'
  ],
  own: {
    listen: client => client.query('LISTEN news'),

    /** It has no sequences, but tells what runs. */
    async cancelling(client, { slow, config }) {
      const running = async other => {
        const { rows } = await other.query(
          "SELECT count() AS n FROM query_activity() WHERE query LIKE '%20000000000%'"
        );
        return Number(rows[0].n) - 1; // this one
      };
      const other = new Client(config);
      await other.connect();
      try {
        const controller = new AbortController();
        const query = client.query(slow, [], { signal: controller.signal });
        query.catch(() => {});
        while ((await running(other)) === 0) await sleep(20);
        controller.abort();
        await assert.rejects(query, { name: 'AbortError' });
        while ((await running(other)) > 0) await sleep(20);
        assert.equal((await client.query('SELECT 1 AS n')).rows[0].n, 1);
      } finally {
        other.destroy();
      }
    }
  }
});
