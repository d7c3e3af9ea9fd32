'use strict';

const PgBoss = require('pg-boss');

module.exports = async ({ pg, config, kill, tell }) => {
  const pool = new pg.Pool({ ...config, max: 4 });
  pool.on('error', () => {});
  const boss = new PgBoss({ db: { executeSql: (text, values) => pool.query(text, values) } });
  boss.on('error', () => {});
  await boss.start();
  await boss.createQueue('work');
  const done = [];
  await boss.work('work', { pollingIntervalSeconds: 0.5, batchSize: 5 }, async jobs => {
    for (const { data } of jobs) done.push(data.n);
  });
  const until = async count => {
    while (done.length < count) await new Promise(resolve => setTimeout(resolve, 20));
  };
  await Promise.all(Array.from({ length: 10 }, (_, n) => boss.send('work', { n })));
  await until(10);
  // A job that pg-boss cannot complete ends its program.
  const OPEN = "SELECT FROM pgboss.job WHERE state <> 'completed'";
  while ((await pool.query(OPEN)).rowCount > 0) await new Promise(resolve => setTimeout(resolve, 20));
  await kill();
  const send = n =>
    boss.send('work', { n }).catch(() => new Promise(resolve => setTimeout(resolve, 50)).then(() => send(n)));
  for (let n = 10; n < 15; n++) await send(n);
  await until(15);
  tell(
    [...new Set(done)].sort((a, b) => a - b),
    await boss.getQueueSize('nothing').catch(({ name }) => name)
  );
  await boss.stop({ graceful: false });
  await pool.end();
};
