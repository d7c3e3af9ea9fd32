import fastify from 'fastify';
import { respond } from 'quickgres/http';
import { Pool } from 'quickgres/pool';

const pool = new Pool(process.env.DATABASE_URL);
const app = fastify();

/** Answers through the onSend hooks of plugins, and with their headers. */
async function answer({ url, method, headers }, reply, ...query) {
  const request = new Request(new URL(url, 'http://localhost'), { method, headers });
  const response = await respond(pool, request, ...query);
  const vary = reply.getHeader('vary'); // of a plugin, such as @fastify/cors
  if (vary) response.headers.append('vary', vary);
  return reply
    .code(response.status)
    .headers(Object.fromEntries(response.headers))
    .send(response.body ?? undefined);
}

app.get('/users', (request, reply) => answer(request, reply, 'SELECT id, name FROM users'));
app.get('/users/:id', (request, reply) =>
  answer(request, reply, 'SELECT id, name FROM users WHERE id = $1', [request.params.id], { emptyStatus: 404 })
);
app.setErrorHandler((error, request, reply) =>
  // SQLSTATE class 22: a value is wrong, such as a malformed uuid
  error.code?.startsWith('22')
    ? reply.code(400).send({ error: 'a wrong value' })
    : reply.code(500).send({ error: 'the database could not answer' })
);
app.addHook('onClose', () => pool.end());

await app.listen({ port: Number(process.env.PORT ?? 3000) });
