// Gives a page the files of client-parser, without a bundler.
import fs from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';

const { resolve } = createRequire(import.meta.url);
const folder = path.dirname(resolve('quickgres/client-parser/index.js'));
const files = fs.readdirSync(folder).filter(name => name.endsWith('.js'));

const server = http.createServer((request, response) => {
  const name = files.find(name => request.url === `/client-parser/${name}`);
  if (name === undefined) return response.writeHead(404).end();
  response.writeHead(200, { 'content-type': 'text/javascript' });
  fs.createReadStream(path.join(folder, name)).pipe(response);
});
server.listen(0);

const { port } = Object(server.address());
const response = await fetch(`http://localhost:${port}/client-parser/index.js`);
console.log(response.status, response.headers.get('content-type')); // 200 text/javascript
server.close();
