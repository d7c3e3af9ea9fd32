'use strict';

const { once } = require('node:events');
const express = require('express');
const session = require('express-session');
const Store = require('connect-pg-simple')(session);

module.exports = async ({ pg, config, kill, tell, persist }) => {
  const pool = new pg.Pool({ ...config, max: 3 });
  pool.on('error', () => {});
  const app = express();
  const store = new Store({ pool, createTableIfMissing: true, pruneSessionInterval: false, errorLog: () => {} });
  app.use(session({ store, secret: 'secret', resave: false, saveUninitialized: true }));
  app.get('/', (request, response) => {
    request.session.visits = (request.session.visits ?? 0) + 1;
    response.json({ visits: request.session.visits });
  });
  app.get('/out', (request, response) => request.session.destroy(error => response.json({ out: !error })));
  app.use((error, request, response, next) =>
    response.status(500).json({ error: error.code !== undefined, next: next !== undefined })
  );
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  let cookie = '';
  const get = async path => {
    const response = await fetch(`http://127.0.0.1:${server.address().port}${path}`, { headers: { cookie } });
    cookie = response.headers.get('set-cookie')?.split(';')[0] ?? cookie;
    if (response.status !== 200) throw new Error(String(response.status));
    return response.json();
  };
  tell(await get('/'), await get('/'));
  tell(await Promise.all(Array.from({ length: 10 }, () => get('/').then(({ visits }) => visits >= 3))));
  const before = (await get('/')).visits;
  await kill();
  tell((await persist(() => get('/'))).visits > before, await get('/out'), await get('/'));
  tell((await pool.query('SELECT count(*)::int FROM session')).rows);
  server.close();
  server.closeAllConnections();
  store.close();
  await pool.end();
};
