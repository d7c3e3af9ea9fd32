'use strict';

const { randomBytes } = require('node:crypto');
const { setImmediate: turn, setTimeout: sleep } = require('node:timers/promises');
const { LEASE } = require('../core/internal');
const { Client } = require('../..');
const { ConnectionError, UsageError, checkText, isFinal, isUrl, kindOf, quoted } = require('../core/protocol');
const { checkConfig } = require('../core/config');
const { checkOptions } = require('../core/options');
const { askFor } = require('../core/pipeline');
const rows = require('../core/rows');
const { setImmediate } = require('../core/timer');
const { PgOutput } = require('./pgoutput');
const { checkInterval, replicate } = require('./replicate');

const OPTIONS = new Set(['publication', 'slot', 'snapshot', 'decode', 'statusInterval', 'signal']);

/** The first and the longest pause before the loop connects again, in milliseconds. */
const FIRST_PAUSE = 50;
const LONGEST_PAUSE = 5000;

/** Descriptions, which the changes refer to. */
const DESCRIPTIONS = new Set(['relation', 'type', 'origin']);

/**
 * Ends the time limits of a session, some of which older servers do not have. While a snapshot is read, its connection
 * is idle in a transaction; a new slot waits for the end of running transactions; and a change is decoded in a
 * transaction, which takes as long as its reader.
 */
const NO_LIMITS = `SELECT set_config(name, '0', false) FROM pg_settings WHERE name IN ('statement_timeout',
  'lock_timeout', 'transaction_timeout', 'idle_session_timeout', 'idle_in_transaction_session_timeout')`;

/** The reason of `break` and `return`. */
const ENDED = new Error('the loop has ended');

/** @returns {string[]} the publications; throws a TypeError for wrong options */
function check(options) {
  checkOptions(options, OPTIONS);
  const { publication, slot = 'none', snapshot, statusInterval = 1 } = options;
  checkInterval(statusInterval);
  const names = Array.isArray(publication) && publication.length > 0 ? publication : [publication];
  names.forEach(name => checkText(name, 'publication'));
  if (typeof slot !== 'string' || !/^[a-z0-9_]{1,63}$/.test(slot)) {
    throw new TypeError('slot must consist of 1 to 63 of the characters a-z, 0-9 and _');
  }
  if (snapshot !== undefined && typeof snapshot !== 'function')
    throw new TypeError(`snapshot must be a function, not ${kindOf(snapshot)}`);
  return names;
}

/** Errors of connecting, of which others pass than of what is asked then. */
const refusals = new WeakSet();

/** Connects a client: see connect(). */
const open = (client, ...place) =>
  client.connect(...place).catch(error => {
    refusals.add(error);
    throw error;
  });

/**
 * Whether another attempt may succeed: it failed to connect, the connection was lost, or the server restarts, is full,
 * or takes the slot as in use.
 */
const isOutage = error => {
  const { name, code } = Object(error);
  if (refusals.has(error)) return !isFinal(error);
  return name === 'PostgresError'
    ? /^(?:08|53|57P|55006)/.test(code)
    : name === 'UsageError'
      ? code === '55000' // the server ended the replication
      : /^(?:Connection|Timeout)Error$/.test(name) && code !== '08P01';
};

/** Checks what START_REPLICATION reports late or not at all. @returns {boolean} whether there is such a slot */
async function prepare(client, names, slot) {
  await open(client).catch(error => {
    if (error.code !== '42501') throw error;
    throw new UsageError(`${error.message}: give the role the right with ALTER ROLE … REPLICATION`, error.code, error);
  });
  const [, level, publications, slots] =
    await client.simpleQuery(`${NO_LIMITS}; SELECT current_setting('wal_level'); SELECT pubname FROM pg_publication;
    SELECT FROM pg_replication_slots WHERE slot_name = '${slot}'`);
  const [[found]] = level.arrays;
  if (found !== 'logical')
    throw new UsageError(`wal_level is ${found}: set wal_level = logical, and restart the server`, '55000');
  const missing = names.find(name => !publications.arrays.flat().includes(name));
  if (missing === undefined) return slots.rowCount > 0;
  const name = quoted(missing);
  throw new UsageError(
    `publication ${name} does not exist in this database: CREATE PUBLICATION ${name} FOR TABLE …`,
    '42704'
  );
}

/**
 * @returns {Promise<string|undefined>} the name of the snapshot that sees what was committed before the slot begins;
 *   undefined if another process has made the slot meanwhile
 */
async function createSlot(client, slot) {
  const made = client.simpleQuery(`CREATE_REPLICATION_SLOT ${slot} LOGICAL pgoutput EXPORT_SNAPSHOT`);
  const [{ arrays }] = await made.catch(error => {
    if (error.code !== '42710') throw error;
    return [{ arrays: [[]] }];
  });
  return arrays[0][2]; // by its place, whatever `names` says
}

/**
 * Does work with a connection of its own, however long it takes, until the signal.
 * @param {Array} [place] of the server, as connect() takes it
 * @returns {Promise} of its result
 */
async function aside(config, signal, work, place = []) {
  signal.throwIfAborted();
  const client = new Client(config);
  let abort;
  const aborted = new Promise((resolve, reject) => {
    abort = () => reject(signal.reason);
  });
  const working = async () => {
    await open(client, ...place);
    await client.simpleQuery(NO_LIMITS);
    return work(client);
  };
  signal.addEventListener('abort', abort);
  try {
    return await Promise.race([aborted, working()]);
  } finally {
    signal.removeEventListener('abort', abort);
    client.destroy();
  }
}

/** Gives the function a transaction that sees the snapshot, which the client's server has while the client lives. */
function readSnapshot(config, client, name, read, signal) {
  const { host, port, config: all } = client[LEASE].pipeline.connection;
  const isOneOfSeveral = all.hosts.length > 1 && !all.hostaddr;
  const work = reader =>
    reader.transaction(
      async tx => {
        await tx.simpleQuery(`SET TRANSACTION SNAPSHOT '${name}'`).catch(cause => {
          throw new ConnectionError('the snapshot was lost with the connection of its slot', { cause });
        });
        await read(tx);
      },
      { isolation: 'repeatable read', readOnly: true }
    );
  return aside(config, signal, work, isOneOfSeveral ? [port, host] : []);
}

/**
 * Asks what types are. Without a right to know, they stay strings.
 * @param {{oids?: number[], names?: string[]}} wanted
 */
async function learn(config, types, wanted, signal) {
  const ask = async client => {
    await askFor(client[LEASE].pipeline, types, wanted);
    return client.state === 'open'; // else the question was lost
  };
  for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
    try {
      if (await aside({ ...config, decode: false }, signal, ask)) return;
    } catch (error) {
      signal.throwIfAborted();
      if (!isOutage(error)) return;
    }
    await sleep(pause, undefined, { signal });
  }
}

/** Makes a lasting slot of a temporary one. */
const copySlot = (client, from, to) =>
  client.simpleQuery(
    `SELECT pg_copy_logical_replication_slot('${from}', '${to}', false); SELECT pg_drop_replication_slot('${from}')`
  );

async function* follow(config, names, options, signal) {
  const publications = names.map(quoted).join().replaceAll("'", "''");
  let client,
    isBehind = false, // changes were missed, which the loop has not told
    isFirst = true;
  signal.addEventListener('abort', () => setImmediate(() => client?.destroy()));
  for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
    const temporary = `quickgres_${randomBytes(8).toString('hex')}`;
    const types = new rows.Types(); // this connection may be to another database
    const { slot = temporary, snapshot, decode = config.decode ?? true, statusInterval } = options;
    try {
      if (signal.aborted) throw signal.reason;
      client = new Client({ ...config, decode: false, replication: 'database' });
      const isThere = await prepare(client, names, slot);
      const unknown = types.unknownIn(decode);
      if (unknown.length > 0) await learn(config, types, { names: unknown }, signal);
      if (rows.hasNames(decode)) types.decodersOf(decode, false); // throws for a name that is no type
      isBehind ||= !isThere && !isFirst; // also if the answer to createSlot is lost
      // A slot lasts only after its snapshot was read: otherwise a loss in between would lose the snapshot.
      const isTemporary = slot === temporary || snapshot !== undefined;
      const made = isThere || (await createSlot(client, isTemporary ? `${temporary} TEMPORARY` : slot));
      if (isBehind) yield { type: 'missed' };
      isBehind = false;
      if (!isThere) {
        if (snapshot !== undefined) await readSnapshot({ ...config, decode }, client, made, snapshot, signal);
        if (isTemporary && slot !== temporary) await copySlot(client, temporary, slot);
      }
      const decoder = new PgOutput({ decode }, types);
      const stream = replicate(
        client,
        `START_REPLICATION SLOT ${slot} LOGICAL 0/0 (proto_version '1', publication_names '${publications}')`,
        { statusInterval }
      );
      stream.once('start', () => {
        [isFirst, pause] = [false, FIRST_PAUSE];
      });
      // A server from 18 on skips what a publication that is missing would have told, and only warns.
      client.on('notice', ({ code, message, detail }) => {
        if (code === '55000') stream.destroy(new UsageError(`${message}: ${detail}`, '42704'));
      });
      for await (const { data } of stream) {
        let change = decoder.decode(data);
        const oids = decoder.lacking(change);
        if (oids.length > 0) {
          await learn(config, types, { oids }, signal);
          change = decoder.decode(data);
        }
        if (!DESCRIPTIONS.has(change.type)) yield change;
        if (change.type === 'commit') stream.confirm(change.endLsn);
      }
    } catch (error) {
      if (signal.reason === ENDED) return;
      if (signal.aborted) throw signal.reason;
      // 55006: another process reads the slot, or the server has not noticed yet that the last one is gone.
      if (!isOutage(error) || (isFirst && error.code !== '55006')) throw error;
    } finally {
      await turn(); // the last confirmation is sent
      client?.destroy();
    }
    await sleep(pause * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => {});
  }
}

/** The changes of publications, also beyond the loss of a connection: see index.d.ts. */
function changes(config, options) {
  const names = check(options ?? {});
  checkConfig(config);
  const own = typeof config === 'string' || isUrl(config) ? { connectionString: String(config) } : { ...config };
  rows.checkDecode(own.decode);
  const ending = new AbortController();
  const all = follow(own, names, options, AbortSignal.any([ending.signal, options.signal ?? ending.signal]));
  const end = all.return.bind(all);
  all.return = value => {
    ending.abort(ENDED); // ends a wait for the next change
    return end(value);
  };
  return all;
}

module.exports = { changes };
