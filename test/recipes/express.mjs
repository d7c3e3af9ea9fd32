import express from 'express'; // 5, which passes what a handler rejects with to the error handler
import { respond } from 'quickgres/http';
import { Pool } from 'quickgres/pool';

const pool = new Pool(process.env.DATABASE_URL);
const app = express();

app.get('/users', (request, response) => respond(pool, request, response, 'SELECT id, name FROM users'));
app.get('/users/:id', (request, response) =>
  respond(pool, request, response, 'SELECT id, name FROM users WHERE id = $1', [request.params.id], {
    emptyStatus: 404
  })
);
app.use((error, request, response, next) => {
  // four parameters make it the error handler
  if (response.headersSent) return;
  // SQLSTATE class 22: a value is wrong, such as a malformed uuid
  if (error.code?.startsWith('22')) response.status(400).json({ error: 'a wrong value' });
  else response.status(500).json({ error: 'the database could not answer' });
});

app.listen(process.env.PORT ?? 3000);
