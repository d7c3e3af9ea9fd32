// One connection that is made again when it is lost, with what its session needs. A pool does this by itself.
import { Client } from 'quickgres';

const client = new Client({ connectionString: process.env.DATABASE_URL });
client.on('notification', ({ payload }) => console.log(payload));

async function stayConnected() {
  for (let pause = 100; ; pause = Math.min(pause * 2, 5000)) {
    try {
      await client.connect();
      await client.query('LISTEN news'); // what the session needs comes first
      pause = 100;
      const error = await client.closed;
      if (error === undefined) return; // after end()
    } catch (error) {
      console.log(String(error));
    }
    await new Promise(resolve => setTimeout(resolve, pause * (0.5 + Math.random() / 2)));
  }
}

const running = stayConnected();
await client.query('SELECT 1');
await client.end();
await running;
