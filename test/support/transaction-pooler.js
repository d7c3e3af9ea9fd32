'use strict';

// A pooler in transaction mode that no machine has: it does with pipelined messages what the source and the issues of
// Supabase's pooler describe. PostgreSQL's answers go through it unchanged.

const crypto = require('node:crypto');
const { once } = require('node:events');
const net = require('node:net');
const { onFrames } = require('./kit');

const SYNC = 'S';
const QUERY = 'Q';
const TERMINATE = 'X';
const READY = 'Z';
const COPY_IN = 'G';
const BACKEND_KEY_DATA = 'K';
const IDLE = 0x49;
const SSL_REQUEST = 80877103,
  CANCEL_REQUEST = 80877102;

/** @returns {Buffer} a message of the server */
function message(type, body) {
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(type), length, body]);
}

/**
 * Starts a pooler.
 * @param {object} options
 * @param {object} options.target a server that trusts
 * @param {number} [options.size] connections to the server
 * @param {boolean} [options.drops] false: what was pipelined behind a Sync reaches the server, whose answer goes to the client that
 *   has the server then, or to none; true: it is dropped until the answer has come
 * @returns {Promise<{host: string, port: number, stop: function(): Promise}>}
 */
async function startTransactionPooler({ target, size = 2, drops = false }) {
  const free = []; // servers
  const waiting = []; // clients
  const clients = new Map(); // by their keys
  const sockets = new Set();
  let greeting; // the settings that the server reports

  /** @returns {Promise<net.Socket>} a connection to the server, with its `key` */
  function openServer() {
    const { host, port, user, database } = target;
    const server = net.connect(port, host).setNoDelay();
    sockets.add(server);
    server.client = null;
    const body = Buffer.from(`\0\x03\0\0user\0${user}\0database\0${database}\0client_encoding\0UTF8\0\0`, 'latin1');
    const length = Buffer.alloc(4);
    length.writeInt32BE(body.length + 4);
    server.write(Buffer.concat([length, body]));
    server.on('error', () => {});
    return new Promise(resolve => {
      const reports = [];
      let isReady = false;
      onFrames(server, ({ type, bytes }) => {
        if (!isReady) {
          if (type === BACKEND_KEY_DATA) server.key = Buffer.from(bytes.subarray(5));
          else if (type !== READY) reports.push(Buffer.from(bytes));
          isReady = type === READY;
          if (!isReady) return;
          greeting ??= Buffer.concat(reports);
          return resolve(server);
        }
        const { client } = server; // whoever has the server gets what it says
        client?.write(bytes);
        if (type === COPY_IN && client !== null) client.isSynced = false;
        if (type === READY && client !== null) {
          client.isSynced = false;
          if (bytes[5] === IDLE) checkIn(server);
        }
      });
      // What is left of a client's transaction ends with its connection.
      server.on('close', () => {
        sockets.delete(server);
        const at = free.indexOf(server);
        if (at >= 0) free.splice(at, 1);
      });
    });
  }

  function checkIn(server) {
    if (server.client !== null) server.client.server = null;
    server.client = null;
    const next = waiting.shift();
    if (next === undefined) free.push(server);
    else checkOut(next, server);
  }

  function checkOut(client, server) {
    server.client = client;
    client.server = server;
    const { held } = client;
    client.held = [];
    for (const bytes of held) forward(client, bytes);
  }

  /** Sends a client's message to the server that it has, or takes one for it. */
  function forward(client, bytes) {
    if (drops && client.isSynced) return;
    if (client.server === null) {
      if (client.held.push(bytes) > 1) return;
      const server = free.shift();
      if (server === undefined) waiting.push(client);
      else checkOut(client, server);
      return;
    }
    if ([SYNC, QUERY].includes(String.fromCharCode(bytes[0]))) client.isSynced = true;
    client.server.write(bytes);
  }

  function startup(client, bytes) {
    const code = bytes.readInt32BE(4);
    if (code === CANCEL_REQUEST) {
      const server = clients.get(bytes.subarray(8).toString('hex'))?.server;
      if (server) {
        const cancel = net.connect(target.port, target.host);
        cancel.on('error', () => {});
        cancel.end(Buffer.concat([bytes.subarray(0, 8), server.key]));
        cancel.on('close', () => client.end());
      } else client.end();
      return true;
    }
    if (code === SSL_REQUEST) {
      client.write('N');
      return true;
    }
    const key = crypto.randomBytes(8);
    clients.set((client.key = key.toString('hex')), client);
    client.write(Buffer.concat([greeting, message('K', key), message('Z', Buffer.from('I'))]));
    return false;
  }

  function leave(client) {
    sockets.delete(client);
    clients.delete(client.key);
    const at = waiting.indexOf(client);
    if (at >= 0) waiting.splice(at, 1);
    const { server } = client;
    client.server = null;
    if (!server) return;
    server.client = null;
    server.destroy();
    openServer().then(checkIn);
  }

  for (let i = 0; i < size; i++) free.push(await openServer());
  const listener = net
    .createServer({ noDelay: true }, client => {
      sockets.add(client);
      Object.assign(client, { server: null, held: [], isSynced: false });
      client.on('error', () => {});
      client.on('close', () => leave(client));
      let isStarting = true;
      onFrames(
        client,
        ({ type, bytes }) => {
          if (isStarting) return (isStarting = startup(client, bytes));
          if (type === TERMINATE) client.end();
          else forward(client, Buffer.from(bytes));
        },
        true
      );
    })
    .listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return {
    host: '127.0.0.1',
    port: listener.address().port,
    async stop() {
      for (const socket of sockets) socket.destroy();
      listener.close();
      await once(listener, 'close');
    }
  };
}

module.exports = { startTransactionPooler };
