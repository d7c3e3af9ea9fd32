'use strict';

const {
  State,
  backend: { BindComplete, CommandComplete, DataRow }
} = require('../protocol');
const { Flight } = require('../pipeline');

/** What PostgreSQL reports of itself, and settings of a client, which a pooler keeps for each client. */
const OF_SERVER = ['integer_datetimes', 'is_superuser', 'server_encoding', 'server_version', 'session_authorization'];
const OF_CLIENT = ['application_name', 'client_encoding', 'DateStyle', 'standard_conforming_strings', 'TimeZone'];

/** The greatest process id of Linux. Poolers send random numbers of 32 bits. */
const MOST_PROCESSES = 1 << 22;

/**
 * Whether PostgreSQL answers by itself, or PgBouncer from 1.21 has renamed a prepared statement: it has learned then to
 * expect as many answers as there are requests.
 */
const TEXT = `SELECT pg_catalog.pg_backend_pid() = $1
    OR (bool_or(name LIKE 'PGBOUNCER\\_%') AND NOT bool_or(name = $2))
  FROM pg_catalog.pg_prepared_statements`;
const TYPES = [23, 25]; // int4, text

/**
 * Whether a pooler may be in between: by the process id, or by the order of what was reported. PgBouncer reports the
 * client's settings last.
 */
function mayBePooled({ processId, parameters }) {
  if (!(processId > 0 && processId <= MOST_PROCESSES)) return true;
  let count; // of the client's settings behind the last one of the server's
  for (const name in parameters) {
    if (OF_SERVER.includes(name)) count = 0;
    else if (OF_CLIENT.includes(name)) count++;
  }
  return count === OF_CLIENT.length;
}

/** Finds out whether a server that may be a pooler takes pipelined requests. Nothing fails with it. */
class ProofRequest extends Flight {
  #processId;

  constructor(processId) {
    super();
    this.#processId = processId;
  }

  write(writer, { tag }) {
    const name = `proof${tag}`;
    writer.parse(name, TEXT, TYPES);
    writer.bind(Buffer.from(`\0${name}\0`), [this.#processId, name], 0);
    writer.execute('', 0);
    writer.close('S', name);
    this.state = State.Parsing;
  }

  message(pipeline, type, buf, start, end) {
    super.message(pipeline, type, buf, start, end);
    if (type === BindComplete) this.state = State.Rows;
    else if (type === CommandComplete) this.state = State.Closing;
    else if (type === DataRow && buf[end - 1] === 0x74) pipeline.proven();
  }

  ready() {
    this.settle(undefined);
  }
}

ProofRequest.prototype.internal = true;

module.exports = { ProofRequest, mayBePooled };
