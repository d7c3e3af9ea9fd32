'use strict';

const { PGlite } = require('@electric-sql/pglite');
const { PGLiteSocketServer } = require('@electric-sql/pglite-socket');
const { dependencies } = require('../package.json');

/** PGlite behind its socket server, which has one session for all connections. */
const PGLITE = {
  name: `PGlite ${dependencies['@electric-sql/pglite']}`,
  size: 1,
  lacks: {
    'COPY FROM': /protocol synchronization was lost/,
    'COPY FROM in a transaction that is rolled back': /protocol synchronization was lost/,
    cancelling: /the query ran to its end/,
    // The server runs in this process, which is busy while it works: the answer comes before the limit.
    statement_timeout: /Missing expected rejection/,
    'settings in the config': /public/
  },
  breaks: ['COPY FROM', 'COPY FROM in a transaction that is rolled back'],
  slow: 'SELECT count(*) FROM generate_series(1, 1500000)',
  async start() {
    const db = await PGlite.create();
    const server = new PGLiteSocketServer({ db, port: 0, host: '127.0.0.1', maxConnections: 10 });
    const listening = new Promise(resolve => server.addEventListener('listening', ({ detail }) => resolve(detail)));
    await server.start();
    const { port } = await listening;
    return {
      config: { host: '127.0.0.1', port, user: 'postgres', database: 'postgres', sslmode: 'disable' },
      async stop() {
        await server.stop();
        await db.close();
      }
    };
  }
};

module.exports = { PGLITE };
