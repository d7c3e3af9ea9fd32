'use strict';

const fastify = require('fastify');

const app = fastify();
app.register(require('@fastify/postgres'), { connectionString: process.env.DATABASE_URL });
app.get('/users/:id', async request => {
  const { rows } = await app.pg.query('SELECT id, name FROM fastify_users WHERE id = $1', [request.params.id]);
  return rows;
});
app.post('/users', request =>
  app.pg.transact(async client => {
    const {
      rows: [{ id }]
    } = await client.query('INSERT INTO fastify_users (name) VALUES ($1) RETURNING id', [request.body.name]);
    if (request.body.fails) await client.query('SELECT nothing');
    return { id };
  })
);

(async () => {
  await app.ready();
  await app.pg.query('CREATE TABLE fastify_users (id int GENERATED ALWAYS AS IDENTITY, name text NOT NULL)');
  const post = payload => app.inject({ method: 'POST', url: '/users', payload });
  for (const payload of [{ name: 'Ann' }, { name: 'Bob', fails: true }, {}, { name: 'Cy' }]) {
    const { statusCode, body } = await post(payload);
    console.log(statusCode, body);
  }
  const many = await Promise.all(Array.from({ length: 50 }, (_, i) => app.inject(`/users/${i}`)));
  console.log(many.map(({ body }) => body).join());
  console.log((await app.inject('/users/x')).body);
  await app.close();
})();
