'use strict';

const createSubscriber = require('pg-listen').default;
const { Pool } = require('pg');

(async () => {
  const subscriber = createSubscriber({ connectionString: process.env.DATABASE_URL });
  const seen = [];
  subscriber.notifications.on('news', payload => seen.push(payload));
  subscriber.events.on('error', error => console.log('error', error.message));
  subscriber.events.on('reconnect', () => console.log('reconnects'));
  await subscriber.connect();
  await subscriber.listenTo('news');
  await subscriber.notify('news', { n: 1 });
  const pool = new Pool({ connectionString: process.env.DATABASE_URL });
  await pool.query("SELECT pg_notify('news', '\"two\"')");
  while (seen.length < 2) await new Promise(resolve => setTimeout(resolve, 5));
  console.log(JSON.stringify(seen), subscriber.getSubscribedChannels());
  const connected = new Promise(resolve => subscriber.events.once('connected', resolve));
  await pool.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_backend_pid%' OR query LIKE 'NOTIFY%' OR query LIKE 'LISTEN%'"
  );
  await connected;
  await subscriber.notify('news', 'after');
  while (seen.length < 3) await new Promise(resolve => setTimeout(resolve, 5));
  console.log(seen[2]);
  await subscriber.close();
  await pool.end();
})();
