'use strict';

const { Piece, checkText, checkValues, isBytes, isRecord, keysOf, kindOf, snapshot, tagOf } = require('./protocol');
const { checkDecode } = require('./rows');

const NO_VALUES = Object.freeze([]);
const NO_OPTIONS = Object.freeze({});

/** Milliseconds for which the reader of a result may take nothing. */
const STALL_TIMEOUT = 60000;

/** Bytes up to which a result is read however slow its target is. */
const BUFFER = 1 << 20;

const LEVELS = ['serializable', 'repeatable read', 'read committed', 'read uncommitted'];

const STATEMENT = ['format', 'cache', 'paramTypes'];
const VALUES = ['decode', 'names'];
const LIMITS = ['signal', 'statement_timeout'];
const PLACE = ['alone', 'idempotent'];

const NAMES = {
  batch: new Set([...LIMITS, ...PLACE]),
  batched: new Set([...STATEMENT, ...VALUES]),
  commit: new Set([...STATEMENT, ...VALUES, ...LIMITS]),
  copyFrom: new Set(['signal', 'highWaterMark', 'columns', 'stall_timeout']),
  copyTo: new Set(['signal', 'highWaterMark', 'stall_timeout', 'buffer', 'alone']),
  cursor: new Set([...STATEMENT, ...VALUES, 'batchSize', 'signal']),
  describe: new Set(['paramTypes', ...LIMITS, 'idempotent']),
  listen: new Set(['session', 'keepalive', 'signal']),
  query: new Set([...STATEMENT, ...VALUES, 'stream', 'buffer', ...LIMITS, ...PLACE]),
  queryTo: new Set([
    'as',
    'int8',
    'numeric',
    'bytea',
    'separator',
    'end',
    'stall_timeout',
    'buffer',
    ...STATEMENT,
    ...LIMITS,
    ...PLACE
  ]),
  simpleQuery: new Set([...VALUES, ...LIMITS, 'idempotent']),
  transaction: new Set(['isolation', 'readOnly', 'deferrable', ...LIMITS, 'idempotent', 'retries'])
};

const HINTS = {
  connectionString: 'it belongs to the config',
  decode: 'it belongs to the config, or to a query',
  retry: 'write idempotent',
  idleTimeoutMillis: 'write idle_timeout',
  max: 'write size',
  maxLifetimeSeconds: 'write max_lifetime, in milliseconds',
  timeout: 'write statement_timeout',
  values: 'they are the second argument'
};

const noCallback = value =>
  typeof value === 'function' ? ': there are no callbacks, but promises, streams and async iterables' : '';

/** @returns {function(*, string)} the check of an option; an error shows numbers, and other values by their kind */
const must = (fits, wanted) => (value, name) => {
  if (fits(value)) return;
  const given = typeof value === 'number' ? value : kindOf(value);
  throw new TypeError(`${name} must be ${wanted}, not ${given}${noCallback(value)}`);
};

const checkFlag = must(value => typeof value === 'boolean', 'a boolean');
const checkNumber = (wanted, fits) =>
  must(value => typeof value === 'number' && value <= 0x7fffffff && fits(value), wanted);
const checkCount = least => checkNumber(`an integer from ${least}`, value => Number.isInteger(value) && value >= least);
const milliseconds = checkNumber('a number of milliseconds from 0', value => value >= 0);

const isOid = oid => Number.isInteger(oid) && oid >= 0 && oid <= 0xffffffff;

/** @returns {function(*, string)} a check of an option that is one of these words, of which the first is the default */
const oneOf = words => (value, name) => {
  if (words.includes(value)) return;
  const given = typeof value === 'string' ? `'${value}'` : kindOf(value);
  throw new TypeError(`${name} must be '${words.join("' or '")}', not ${given}`);
};

/** @returns {function(*, string, object)} a check of an option that is for the rows of the method itself */
const ofRows =
  check =>
  (value, name, { stream }) => {
    check(value, name);
    if (value && stream)
      throw new TypeError(`${name} has no effect on a stream of yours: write new RowReader({ ${name} })`);
  };

/** The check of each option; methods check the options that are missing here. */
const CHECKS = {
  alone: checkFlag,
  cache: checkFlag,
  deferrable: checkFlag,
  end: checkFlag,
  readOnly: checkFlag,
  reset: checkFlag,
  idempotent: checkFlag,
  session: checkFlag,
  int8: oneOf(['number', 'string']),
  numeric: oneOf(['string', 'number']),
  bytea: oneOf(['hex', 'base64']),
  separator: must(value => typeof value === 'string' || isBytes(value), 'a string or a Buffer'),
  batchSize: checkCount(1),
  retries: checkCount(0),
  buffer: checkNumber('a number of bytes from 0', value => value >= 0),
  decode: ofRows(checkDecode),
  format: must(value => value === 0 || value === 1, 'Client.STRING (0) or Client.BINARY (1)'),
  isolation(value) {
    const level = typeof value === 'string' ? value.toLowerCase() : kindOf(value);
    if (!LEVELS.includes(level)) throw new TypeError(`isolation must be one of ${LEVELS.join(', ')}, not ${level}`);
  },
  keepalive: milliseconds,
  names: ofRows(must(value => value === 'camel', "'camel'")),
  paramTypes(value) {
    if (Array.isArray(value) && value.length < 65536 && value.every(isOid)) return;
    throw new TypeError('paramTypes must be an array of type OIDs, such as [oid.int8], of the export oid');
  },
  signal: must(value => value?.addEventListener && 'aborted' in value, 'an AbortSignal'),
  stall_timeout: milliseconds,
  statement_timeout: checkNumber('a number of milliseconds above 0', value => value > 0)
};

/** @throws {TypeError} unless the options are an object */
function checkObject(options) {
  if (isRecord(options)) return;
  const hints = { Array: ': query(text, values, options) takes values', AbortSignal: ': write { signal }' };
  const hint = hints[tagOf(options)] ?? noCallback(options);
  throw new TypeError(`options must be an object, not ${kindOf(options)}${hint}`);
}

/** @param {Object<string, function(*, string)>} [checks] by name */
function checkOptions(options, names, checks = CHECKS) {
  if (options === undefined) return;
  checkObject(options);
  for (const name of keysOf(options, names)) {
    if (!names.has(name)) {
      const hint = Object.hasOwn(HINTS, name) ? `: ${HINTS[name]}` : '';
      throw new TypeError(`there is no option ${name} here${hint}; the options are ${[...names].join(', ')}`);
    }
    if (options[name] !== undefined) checks[name]?.(options[name], name, options);
  }
}

/** @throws {TypeError} for arguments of a constructor behind the first `count`, with the form that is right */
function checkNoMore(given, count, form) {
  for (let i = count; i < given.length; i++)
    if (given[i] !== undefined)
      throw new TypeError(`argument ${i + 1} is ${kindOf(given[i])}, which would be ignored: write ${form}`);
}

/**
 * Checks a query that has to wait.
 * @returns {Array|object} a copy of the values, since the caller may change them
 */
function inputOf(text, values) {
  checkText(text, 'text');
  checkValues(values);
  return snapshot(values);
}

/**
 * @param {Scope|object} lease of the session, see Scope.run
 * @returns {Array} text, values and options of a method, which takes a piece of SQL in the place of text and values
 */
function statementOf(lease, text, values = NO_VALUES, options = NO_OPTIONS) {
  const node = Piece.node(text);
  if (node === undefined) return [text, values, options];
  // With names in camel case, a piece has those of the server.
  const statement = (lease.common.decoding.isCamel && node.renamed?.()) || text;
  return [...statement, values === NO_VALUES ? NO_OPTIONS : values];
}

module.exports = {
  inputOf,
  statementOf,
  BUFFER,
  STALL_TIMEOUT,
  checkCount,
  checkNoMore,
  checkNumber,
  checkObject,
  checkOptions,
  NAMES,
  NO_OPTIONS,
  NO_VALUES
};
