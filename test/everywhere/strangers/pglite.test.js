'use strict';

const { PGlite } = require('@electric-sql/pglite');
const { PGLiteSocketServer } = require('@electric-sql/pglite-socket');
const { stranger } = require('./stranger');

stranger('PGlite', {
  lacks: { 'COPY FROM': /unexpected/, cancelling: /the query ran to its end/ },
  slow: 'SELECT count(*) FROM generate_series(1, 8000000)',
  async start() {
    const db = await PGlite.create();
    const server = new PGLiteSocketServer({ db, port: 0, host: '127.0.0.1' });
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
});
