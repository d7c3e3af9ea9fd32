'use strict';

// The server program of the HTTP benchmark: `node server.js CLIENT`, with the way to the database as JSON in
// the variable TARGET. Prints its port. `/cpu` tells the CPU time of the process so far, in microseconds.

const http = require('node:http');
const { ROUTES } = require('./routes');

/** What answers with a response of node:http. */
const answerOn = (request, response) => ({
  request,
  response,
  send(type, body) {
    response.writeHead(200, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
    response.end(body);
  },
  open(type) {
    response.setHeader('content-type', type);
    return response;
  }
});

async function main(name) {
  const db = await require(`./clients/${name}`).open(JSON.parse(process.env.TARGET));
  const server = http.createServer((request, response) => {
    if (request.url === '/cpu') return response.end(JSON.stringify(process.cpuUsage()));
    return ROUTES[request.url].answer(db, answerOn(request, response)).catch(error => {
      // The generator leaves in the middle when its time is over.
      if (error.code !== 'ERR_STREAM_PREMATURE_CLOSE' && error.name !== 'AbortError') console.error(error);
      if (response.headersSent) return response.destroy();
      response.statusCode = 500;
      return response.end();
    });
  });
  server.listen(0, '127.0.0.1', () => console.log(server.address().port));
}

main(process.argv[2]);
