// A to-do list that all open windows share: each shows every change at once. todos.html is the page.
import fs from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { Live } from 'quickgres/live';
import { Pool } from 'quickgres/pool';

const pool = new Pool({ connectionString: process.env.DATABASE_URL });
await pool.simpleQuery(`CREATE TABLE IF NOT EXISTS todos (id serial PRIMARY KEY, task text, done bool DEFAULT false);
  CREATE OR REPLACE FUNCTION changed() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_notify('changes', TG_TABLE_NAME); RETURN NULL; END $$;
  DROP TRIGGER IF EXISTS changed ON todos;
  CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON todos EXECUTE FUNCTION changed()`);
const live = new Live(pool);
live.follow(pool.listen('changes'));

const parser = path.dirname(createRequire(import.meta.url).resolve('quickgres/client-parser/index.js'));
const server = http.createServer(async (request, response) => {
  const [, name] = /^\/client-parser\/([\w-]+\.js)$/.exec(request.url) ?? [];
  try {
    if (request.url === '/') return response.end(fs.readFileSync(new URL('todos.html', import.meta.url)));
    if (name)
      return response.setHeader('content-type', 'text/javascript').end(fs.readFileSync(path.join(parser, name)));
    if (request.method === 'GET')
      return await live.respond(request, response, 'TABLE todos ORDER BY id', [], { tags: ['todos'] });
    const { id, task } = JSON.parse(await text(request));
    if (id) await pool.query('UPDATE todos SET done = NOT done WHERE id = $1', [id]);
    else await pool.query('INSERT INTO todos (task) VALUES ($1)', [task]);
    response.end();
  } catch (error) {
    console.error(error.message);
    if (!response.headersSent) response.writeHead(500).end();
  }
});
server.listen(process.env.PORT ?? 8080, () => console.log(`http://localhost:${server.address().port}/`));
