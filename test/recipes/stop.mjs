// Closes the server first, so that no request finds the pool closed; then the pool, which waits for what is under way.
import http from 'node:http';
import { respond } from 'quickgres/http';
import { Pool } from 'quickgres/pool';

const pool = new Pool({ connectionString: process.env.DATABASE_URL });
const server = http
  .createServer((request, response) => {
    respond(pool, request, response, 'SELECT 1 AS one').catch(() => {
      if (!response.headersSent) response.writeHead(500).end();
    });
  })
  .listen(0);

process.once('SIGTERM', () => {
  const late = setTimeout(() => {
    server.closeAllConnections();
    pool.destroy(new Error('the server is stopping'));
  }, 5000);
  // Without this, a keep-alive connection holds the server open for 5 seconds after its last answer.
  const idle = setInterval(() => server.closeIdleConnections(), 50);
  server.close(async () => {
    clearInterval(idle);
    await pool.end();
    clearTimeout(late);
  });
});

process.kill(process.pid, 'SIGTERM'); // as the system does
