'use strict';

const path = require('node:path');
const { startServer, freePort } = require('pg-test-fixtures');
const { writeServerFile } = require('../../pg-test-fixtures/cluster');
const { makeDirectory } = require('../../pg-test-fixtures/guardian');
const { serverIds } = require('../../pg-test-fixtures/user');
const { startBetween } = require('./proxied');

async function start() {
  const target = await startServer({ external: false });
  const directory = makeDirectory('pgpool', serverIds());
  const port = await freePort();
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    pcp_listen_addresses: '127.0.0.1',
    pcp_port: await freePort(),
    unix_socket_directories: directory,
    pcp_socket_dir: directory,
    wd_ipc_socket_dir: directory,
    backend_hostname0: target.host,
    backend_port0: target.port,
    backend_clustering_mode: 'streaming_replication',
    num_init_children: 16,
    max_pool: 1,
    enable_pool_hba: 'off',
    sr_check_period: 0,
    sr_check_user: target.user,
    health_check_period: 0,
    failover_on_backend_error: 'off',
    pid_file_name: path.join(directory, 'pid'),
    logdir: directory
  };
  const files = ['pgpool.conf', 'pcp.conf', 'pool_hba.conf', 'pool_passwd'].map(name => path.join(directory, name));
  for (const file of files) writeServerFile(file, '');
  writeServerFile(
    files[0],
    Object.entries(settings)
      .map(([name, value]) => `${name} = '${value}'\n`)
      .join('')
  );
  const end = await startBetween('pgpool', ['-n', '-f', files[0], '-F', files[1], '-a', files[2]], { port, directory });
  return {
    config: { host: '127.0.0.1', port, user: target.user, database: target.database, sslmode: 'disable' },
    async stop() {
      await end();
      await target.stop();
    }
  };
}

/** Pgpool-II in front of a PostgreSQL server. */
const PGPOOL = { name: 'Pgpool-II', needs: 'pgpool', start };

module.exports = { PGPOOL };
