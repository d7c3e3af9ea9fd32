'use strict';

// The errors of requests, and the stacks that they show.

const { ConnectionError, PostgresError, UsageError, isOurs, originOf } = require('../protocol');
const { beginningOf, withoutHidden } = require('./sql');

/**
 * When the connection is lost, so many requests have errors of their own, which show their callers; the others share
 * one.
 */
const OWN_ERRORS = 1000;

/**
 * Records where a call comes from, for streams, whose errors no code awaits.
 * @param {function} [hide] left out of the stack, with everything that it calls
 * @returns {{stack: string|undefined}}
 */
function callerOf(hide) {
  const caller = {};
  Error.captureStackTrace?.(caller, hide);
  return caller;
}

/** Whether an error's own stack says less than its caller: that of the library, or of a wrong value. */
const hasCaller = error => isOurs(error) || error instanceof TypeError || error instanceof RangeError;

/** Errors whose stacks show their callers. */
const shown = new WeakSet();

/** Gives an error the stack of its call. */
function showCaller(error, caller) {
  if (caller?.stack !== undefined && hasCaller(error)) {
    error.stack = caller.stack.replace(/^.*/, () => `${error.name}: ${error.message}`);
    shown.add(error);
  }
  return error;
}

/**
 * Copies an error that many requests share for one of them, with the stack of that call.
 * @param {function} [hide] left out of the stack, with everything that it calls
 * @returns {Error} the same one if it is not of this library
 */
function again(error, hide = again) {
  if (!(error instanceof ConnectionError || error instanceof UsageError)) return error;
  const { message, code, sent } = error;
  const cause = originOf(error);
  const other =
    error instanceof UsageError
      ? new UsageError(message, code, cause)
      : new ConnectionError(message, { code, cause, sent });
  Error.captureStackTrace?.(other, hide); // a stack has ten lines: without the library's own ones it reaches the caller
  return other;
}

/** @returns {{line: number, column: number}} of the character at a position, all counted from 1 */
function placeOf(text, position) {
  let end = 0; // in units of UTF-16
  for (let left = position - 1; left > 0 && end < text.length; left--) end += text.codePointAt(end) > 0xffff ? 2 : 1;
  const lines = text.slice(0, end).split('\n');
  return { line: lines.length, column: Array.from(lines.at(-1)).length + 1 };
}

/**
 * Gives an error the SQL of its request, where no log prints it unasked, and the place of `position` in it.
 * @returns {Error}
 */
function withQuery(error, text) {
  if (typeof text !== 'string' || !isOurs(error)) return error;
  // Many lost requests share an error.
  const value = !Object.hasOwn(error, 'query') || error.query === text ? text : undefined;
  Object.defineProperty(error, 'query', { value, configurable: true, writable: true });
  if (error.position > 0) error.at ??= placeOf(text, error.position);
  return error;
}

/** Errors that cancel() has made. */
const cancelled = new WeakSet();

/** Notes that cancel() has made an error. */
const noteCancelled = error => cancelled.add(error);

/** Whether cancel() has made an error, or its cause, so that a rejection with it needs no handler. */
const isCancelled = error => cancelled.has(error) || (error?.cause instanceof Error && cancelled.has(error.cause));

/**
 * Hands out a promise of what is more than a request. Its error shows the function that awaits it. If cancel() makes it
 * reject, it needs no handler.
 * @param {{stack: string}} [called] see callerOf
 * @param {boolean} [runsCode] it runs a function of the caller's, whose errors keep their stacks
 */
function handOut(promise, called, runsCode = false) {
  const handedOut = handingOut();
  return handedOut;

  async function handingOut() {
    try {
      return await promise;
    } catch (error) {
      if (shown.has(error) && runsCode) addAwaiting(error, handingOut);
      else if (shown.has(error) || isOurs(error)) showAwaiting(error, handingOut, called);
      if (isCancelled(error)) handedOut.catch(() => {});
      throw error;
    }
  }
}

/** The folder of this library; unknown in a bundle, whose file has the program's code as well: its errors have both. */
const FOLDER = /^.*[\\/]lib[\\/](?=core(?:[\\/]pipeline[\\/]errors)?\.js$)/.exec(
  typeof __filename === 'string' ? __filename : ''
)?.[0];

/** Frames of V8 and of Node.js. */
const OF_RUNTIME = /^ +at (?:async )?(?:Promise\.|new Promise |process\.|.*\bnode:)/;

/** Whether a line of a stack is code of the caller's. */
const isCallers = line => !OF_RUNTIME.test(line) && !(FOLDER && line.includes(FOLDER));

/**
 * Gives an error of a query the stack of the awaiting caller; if no code awaits it, the beginning of its SQL, and the
 * stack of the call if that is known.
 * @param {function} hide left out
 * @param {{stack: string}} [called] see callerOf
 */
function showAwaiting(error, hide, called) {
  const { name, message, query } = error;
  // Deno prints the frames that were captured for the error itself, whatever its stack is.
  const caller = callerOf(hide);
  const frames = caller.stack?.split('\n').slice(1) ?? []; // not every engine has them
  const isAwaited = frames.some(isCallers);
  if (isAwaited) showCaller(error, caller);
  if (isAwaited ? FOLDER !== undefined : shown.has(error) || (query === undefined && called === undefined)) return;
  const how = isAwaited ? '' : ' that no known code awaits';
  const what = query === undefined ? '' : `\n    in a query${how}: ${beginningOf(query)}`;
  error.stack = `${name}: ${message}${what}${(isAwaited ? caller : called)?.stack?.replace(/^.*/, '') ?? ''}`;
}

/** Adds the awaiting caller to a stack, where it may lie behind ten frames of the library. */
function addAwaiting(error, hide) {
  const { stack } = error;
  const frames =
    callerOf(hide)
      .stack?.split('\n')
      .filter(line => /^ +at /.test(line) && isCallers(line)) ?? [];
  const missing = frames.filter(frame => !stack.includes(frame));
  if (missing.length === 0) return;
  const kept = stack.split('\n').filter(line => !/^ +at /.test(line) || isCallers(line));
  error.stack = [...kept, ...missing].join('\n');
}

/** Gives an error of this library the stack of the awaiting caller, unless it has one. */
function showOnce(error, hide) {
  if (isOurs(error) && !shown.has(error)) showAwaiting(error, hide);
}

/** For a `.catch`: gives an error that a timer or a socket has made the stack of the awaiting function. */
function rejectAgain(error) {
  const own = again(error);
  if (isOurs(own)) showAwaiting(own, rejectAgain);
  else if (own instanceof TypeError && !shown.has(own)) Error.captureStackTrace?.(own, rejectAgain);
  throw own;
}

/**
 * Why a statement does not exist: the error that a Parse of its own would have given the query.
 * @param {PostgresError} error 26000
 * @param {PostgresError|undefined} failure of the Parse that the query relied on
 * @param {string} status of the transaction before
 */
function reasonOf(error, failure, status) {
  if (status === 'E') {
    const message = 'current transaction is aborted, commands ignored until end of transaction block';
    return new PostgresError({ severity: 'ERROR', code: '25P02', message });
  }
  // Temporary conditions are no reason: a cancel, a deadlock, a lock, memory.
  if (failure === undefined || /^(?:40|53|55|57)/.test(failure.code)) return error;
  return new PostgresError({ ...failure, message: failure.message });
}

/**
 * The server's error for a wrong number of values names an internal statement, which the caller does not know.
 * @param {PostgresError} error 08P01, at Bind
 */
function miscounted(error, { oids }, values) {
  const parameters = oids?.length;
  const given = values?.length ?? values?.columnCount;
  if (parameters === undefined || given === undefined || given === parameters) return error;
  const count = (number, what) => `${number} ${what}${number === 1 ? '' : 's'}`;
  return new PostgresError({
    ...error,
    message: `the query takes ${count(parameters, 'parameter')}, but was given ${count(given, 'value')}`
  });
}

/**
 * The error of a query in the place of one that is about the library's statement, which the caller does not know.
 * @param {QueryRequest} query
 * @param {string} status of the transaction before
 * @param {boolean} bound whether BindComplete has come
 */
function explained(error, { statement, values }, status, bound) {
  if (error.code === '26000') return reasonOf(error, statement.failure, status);
  return error.code === '08P01' && !bound ? miscounted(error, statement, values) : error;
}

const IS_LIST = 'a list is one parameter: write = ANY($1) in place of IN ($1)';
const IS_NO_VALUE =
  'a parameter is a value of a query: write sql.id(name) of quickgres/sql for a name, ' +
  '$1::interval for INTERVAL $1, set_config() for SET';
const IS_FAILED = 'an earlier query of the transaction failed: run what may fail in tx.transaction(), a savepoint';
const ONE_STATEMENT = 'query takes one statement: write simpleQuery(text), or batch(queries) for several with values';

const IS_JSON = 'the value is a PostgreSQL array, as copyFrom sends a list: for json, write JSON.stringify(list)';

/** The beginning of an array in the server's report on JSON: `{1`, `{"a",`, and the form feed of an empty one. */
const ARRAY_AS_JSON = /: \{(?:[-\d{\f]|NULL\b|true\b|false\b|"(?:[^"\\]|\\.)*"[,}])/;

const NUMBERED = 'parameters are $1, $2, …: query(text, values) has no ? and no :name';

/** Placeholders of other libraries. */
const PLACEHOLDER = /[=<>(,\s]\?(?![\w?|&#@-])|[^:\w]:[a-z_]/i;

/** Adds what to write instead of SQL that PostgreSQL rejects without a hint of its own. */
function addHint(error, text) {
  const { code, message, routine } = error;
  if (code === '42601' && routine === 'exec_parse_message') error.hint ??= ONE_STATEMENT;
  if (code === '42601' && !text.includes('$') && PLACEHOLDER.test(withoutHidden(text))) error.hint ??= NUMBERED;
  const [, at] = /^22|^42804/.test(code) ? (/ parameter \$(\d+)/.exec(error.where) ?? []) : [];
  if (code === '25P02') error.hint ??= IS_FAILED;
  const [, number] = code === '42601' ? (/[^\w\s]\$(\d+)[^\w\s]/.exec(message) ?? []) : [];
  if (number)
    error.hint ??= new RegExp(`\\bin\\s*\\$${number}\\b`, 'i').test(withoutHidden(text)) ? IS_LIST : IS_NO_VALUE;
  if (code === '22P02' && routine?.startsWith('json_') && ARRAY_AS_JSON.test(error.where)) error.hint ??= IS_JSON;
  const isList = code === '22P02' && routine !== 'record_in' && message.includes('"{');
  if (isList && /\bin\s*\(\s*\$\d+\s*\)/i.test(withoutHidden(text))) error.hint ??= IS_LIST;
  if (at) error.hint ??= `this is the value of $${at}`;
}

/** SQLSTATEs of values that do not fit a type or its domain, of names that do not fit, and of types that are gone. */
const OF_PARAMETERS = /^(?:08P|0A|2[23]|42|XX)/;

/**
 * Whether a statement may have failed before it was executed because it is not what the text means now. 26000: it does
 * not exist; 0A000 of RevalidateCachedQuery: a cached plan must not change its result type. A statement that was
 * prepared before keeps the types of its parameters, whatever a migration has changed.
 * @param {boolean} [isNew] whether it was prepared by this request
 */
function isStale({ code, routine }, isNew) {
  return (
    code === '26000' ||
    (code === '0A000' && routine === 'RevalidateCachedQuery') ||
    (!isNew && OF_PARAMETERS.test(code))
  );
}

/** An error of the input of a call, with the stack of the call: ten lines, see again(). */
function ofInput(error, hide) {
  if (hasCaller(error)) {
    Error.captureStackTrace?.(error, hide);
    shown.add(error);
  }
  return error;
}

/** @returns {Promise} the work's; it rejects if the work throws because of its input */
function promised(work) {
  try {
    return work();
  } catch (error) {
    return Promise.reject(ofInput(error, promised));
  }
}

/** Runs user code. An error that it throws is thrown outside of the library's code. */
function unhindered(work) {
  try {
    work();
  } catch (error) {
    process.nextTick(() => {
      throw error;
    });
  }
}

/** What a request is whose connection the server had ended before. */
const UNREAD = 'had been sent, but the server has not carried it out';

/**
 * Whether the server has ended the session between two of its messages, whose answers come in their order: it was idle
 * for too long (57P05), or told to do so. A pooler, which may say the same, names no routine.
 */
const isTermination = error =>
  error instanceof PostgresError &&
  error.severity === 'FATAL' &&
  (error.code === '57P05' || (error.code === '57P01' && error.routine === 'ProcessInterrupts'));

/** @returns {function(): Error} makes the error of the next lost request */
function lossErrors(
  message,
  code,
  cause,
  sent,
  LossError = ConnectionError,
  what = sent ? 'had been sent, the server may have carried it out' : 'had not been sent'
) {
  let given = 0;
  let error;
  return () => {
    if (given++ < OWN_ERRORS) error = new LossError(`${message}; this request ${what}`, { code, cause, sent });
    return error;
  };
}

module.exports = {
  UNREAD,
  addHint,
  again,
  callerOf,
  explained,
  handOut,
  isCancelled,
  isStale,
  isTermination,
  lossErrors,
  noteCancelled,
  ofInput,
  promised,
  rejectAgain,
  showAwaiting,
  showCaller,
  showOnce,
  unhindered,
  withQuery
};
