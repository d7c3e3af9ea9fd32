import { Client } from 'quickgres';
import { respond } from 'quickgres/http';
import { workersSocket as socket } from 'quickgres/sockets';

export default {
  async fetch(request, env, context) {
    try {
      const { connectionString } = env.HYPERDRIVE; // or connectionString = env.DATABASE_URL
      const client = new Client({ connectionString, socket });
      await client.connect();
      try {
        const options = { as: 'json', paramTypes: [20], cache: false };
        return await respond(client, request, 'SELECT id, name FROM users LIMIT $1', [100], options);
      } finally {
        context.waitUntil(client.end()); // it lets the body finish
      }
    } catch (error) {
      console.error(error); // the HTTP client gets no details
      return Response.json({ error: 'the database could not answer' }, { status: 500 });
    }
  }
};
