/// <reference types="node" />

import { EventEmitter } from 'node:events';
import { Duplex } from 'node:stream';
import { ConnectionOptions } from 'node:tls';
import {
  Config,
  CopyFrom,
  CopyStreamOptions,
  CopyTo,
  CopyToOptions,
  PostgresError,
  ServerFields
} from '../../index.js';

/** Makes a value of a text, or of the bytes of a binary value. */
export type TypeParser<T = any> = (value: any) => T;

/** Format of values. */
export type TypeFormat = 'text' | 'binary';

/** Parsers of values by type OID and format. */
export interface CustomTypesConfig {
  /** @param oid of the type @param format 'text' by default @returns the parser */
  getTypeParser(oid: number, format?: any): any;
}

/** A column of a result. */
export interface FieldDef {
  /** The name, which other columns may share. */
  name: string;
  /** OID of the table, or 0. */
  tableID: number;
  /** Number of the column in its table, from 1, or 0. */
  columnID: number;
  /** OID of its type. */
  dataTypeID: number;
  /** Size of the type in bytes, negative for variable sizes. */
  dataTypeSize: number;
  /** As in pg_attribute.atttypmod. */
  dataTypeModifier: number;
  /** 'text' or 'binary'. */
  format: string;
}

/** A row as an object. */
export interface QueryResultRow {
  /** Columns by name; of several with one name, the last counts. */
  [column: string]: any;
}

/** The common part of results. */
export interface QueryResultBase {
  /** First word of the command; null for an empty text. */
  command: string;
  /** Rows returned or changed; null if the command counts none. */
  rowCount: number | null;
  /** The OID in an INSERT's tag; null for other commands. */
  oid: number;
  /** The columns, empty if the command returns no rows. */
  fields: FieldDef[];
}

/** A result whose rows are objects. */
export interface QueryResult<R extends QueryResultRow = any> extends QueryResultBase {
  /** Columns by name; null for NULL. */
  rows: R[];
}

/** A result whose rows are arrays. */
export interface QueryArrayResult<R extends any[] = any[]> extends QueryResultBase {
  /** The values in column order. */
  rows: R[];
}

/** Values of parameters. */
export type QueryConfigValues<T> = T extends any[] ? T : never;

/** A query with options. */
export interface QueryConfig<I = any[]> {
  /** SQL, with parameters as $1, $2, … */
  text: string;
  /** Values of the parameters. Default: none. */
  values?: I | undefined;
  /** Prepares the query under this name; its text may then be omitted, and another text is an Error. Default: none. */
  name?: string | undefined;
  /** Parsers of the values. Default: the client's. */
  types?: CustomTypesConfig | undefined;
  /** Whether values come in binary format; a query of text alone gives text. Default: the client's. */
  binary?: boolean | undefined;
  /** Milliseconds until it is cancelled with the Error 'Query read timeout'. Default: the client's. */
  query_timeout?: number | undefined;
  /** Cancels it with an AbortError. Default: none. */
  signal?: AbortSignal | undefined;
  /** 'extended': one statement, even without values. Default: a text without values may have several. */
  queryMode?: 'extended' | undefined;
}

/** A query whose rows are arrays. */
export interface QueryArrayConfig<I = any[]> extends QueryConfig<I> {
  /** The values are in column order. */
  rowMode: 'array';
}

/** An object that uses the extended protocol itself, such as a cursor of pg-cursor. */
export interface Submittable {
  /** Called when it owns the connection. @param connection with the methods that pg-cursor calls */
  submit(connection: any): void;
}

/**
 * Called with an error, or with null (a pool: undefined) and the result. An error that it throws is an uncaught
 * exception.
 */
export type QueryCallback<R> = (error: Error, result: R) => void;

/** The query method of clients and pools. */
export interface Queryable {
  /**
   * Runs a query. A text without values may have several statements, and resolves to an array of their results.
   * @param query a Submittable, a text, or a config
   * @param values of the parameters
   * @param callback in place of a promise
   * @returns the result; the Submittable (a pool returns a promise); nothing with a callback. Rejects with the server's
   *   DatabaseError; with a ConnectionError if there is no connection (`sent`: whether the server may have executed
   *   it); with the Error 'Query read timeout'; before anything is sent, with a TypeError or an Error
   * @throws {TypeError} for a callback that is not a function; on a client, without a query
   */
  query<T extends Submittable>(query: T): T;
  query<R extends any[] = any[], I = any[]>(query: QueryArrayConfig<I>, values?: I): Promise<QueryArrayResult<R>>;
  query<R extends QueryResultRow = any, I = any[]>(query: string | QueryConfig<I>, values?: I): Promise<QueryResult<R>>;
  query<R extends any[] = any[], I = any[]>(
    query: QueryArrayConfig<I>,
    callback: QueryCallback<QueryArrayResult<R>>
  ): void;
  query<R extends QueryResultRow = any, I = any[]>(
    query: string | QueryConfig<I>,
    callback: QueryCallback<QueryResult<R>>
  ): void;
  query<R extends QueryResultRow = any, I = any[]>(
    query: string | QueryConfig<I>,
    values: I,
    callback: QueryCallback<QueryResult<R>>
  ): void;
}

/** Options of a client. Anything you omit is taken from the environment, then from `defaults`. */
export interface ClientConfig {
  /** Default: PGUSER, else `defaults.user`, the system's user. */
  user?: string | undefined;
  /** Default: PGDATABASE, else the user's name. */
  database?: string | undefined;
  /**
   * The password, or a function that is called for each connection. Default: PGPASSWORD, else that in the password
   * file.
   */
  password?: string | (() => string | Promise<string>) | undefined;
  /** Default: PGPORT, else 5432. */
  port?: number | undefined;
  /** Name, address, or directory of a Unix socket. Default: PGHOST, else 'localhost'. */
  host?: string | undefined;
  /** Precedes the other options: a URL, or a directory and a database. Default: none. */
  connectionString?: string | undefined;
  /** Options of tls.connect; true: TLS with certificate verification; false: no TLS. Default: PGSSLMODE, else false. */
  ssl?: boolean | ConnectionOptions | undefined;
  /** No effect: channel binding is used if the server offers it. Default: none. */
  enableChannelBinding?: boolean | undefined;
  /** 'direct': TLS without asking the server first. Default: PGSSLNEGOTIATION, else 'postgres'. */
  sslnegotiation?: 'postgres' | 'direct' | undefined;
  /** Whether a silent connection is probed. Default: true. */
  keepAlive?: boolean | undefined;
  /** Milliseconds of silence before the first probe, in whole seconds. Default: the system's. */
  keepAliveInitialDelayMillis?: number | undefined;
  /** Returns a stream in place of a socket. Default: a socket. */
  stream?: (() => Duplex | undefined) | undefined;
  /** Milliseconds for each statement on the server; 0 and false keep the server's setting. Default: the server's. */
  statement_timeout?: number | false | undefined;
  /** Milliseconds for each wait for a lock; 0 keeps the server's setting. Default: the server's. */
  lock_timeout?: number | undefined;
  /** Milliseconds until the server ends a session with an idle transaction. Default: the server's. */
  idle_in_transaction_session_timeout?: number | undefined;
  /** Milliseconds until a query is cancelled with the Error 'Query read timeout'. Default: none. */
  query_timeout?: number | undefined;
  /** Milliseconds to connect to an address, or to wait for a client of a pool; 0 for no limit. Default: 0. */
  connectionTimeoutMillis?: number | undefined;
  /** The name in pg_stat_activity. Default: PGAPPNAME, else `fallback_application_name`. */
  application_name?: string | undefined;
  /** The name if there is no application_name. Default: none. */
  fallback_application_name?: string | undefined;
  /** Only UTF8, the default. */
  client_encoding?: string | undefined;
  /** Options for the server process, for example -c geqo=off. Default: PGOPTIONS. */
  options?: string | undefined;
  /** true for physical, 'database' for logical replication. Default: an ordinary connection. */
  replication?: string | boolean | undefined;
  /** Parsers of the values. Default: `types`. */
  types?: CustomTypesConfig | undefined;
  /** Whether queries with parameters get values in binary format. Default: false. */
  binary?: boolean | undefined;
  /** Whether end() waits for running queries; otherwise they reject. Default: false. */
  pipeline?: boolean | undefined;
  /** The bearer token for a server that asks for OAuth, or a function that gives one for each connection. Default: none. */
  oauth_token?: Config['oauth_token'];
  /** The most prepared statements of a connection; 0 for transaction poolers. Default: 256. */
  statement_cache?: number | undefined;
  /**
   * The most queries of a connection that were sent and not answered: 1 for no pipelining, 0 for no limit. Default: no
   * limit, but 1 behind a pooler that is not known to be safe: an old PgBouncer gives a client the answers of another
   * one that has left. 1 at `*.pooler.supabase.com:6543`, where `statement_cache` is 0 by default.
   */
  max_pipeline?: number | undefined;
}

/** The same as ClientConfig. */
export type ConnectionConfig = ClientConfig;

/** A notification, as NOTIFY sent it. */
export interface Notification {
  /** The server process of the notifying session. */
  processId: number;
  /** The name of the channel. */
  channel: string;
  /** The payload, '' if there is none. */
  payload?: string | undefined;
}

/** 'I' outside a transaction block, 'T' in one, 'E' in a failed one; null without a connection. */
export type TransactionStatus = 'I' | 'T' | 'E' | null;

/** The methods of Queryable: requests are sent at once and answered in order; before connect() they reject. */
export interface Client extends Queryable {}
/**
 * A connection. Events: 'connect'; 'notification'; 'notice'; 'drain' when no request is left; 'error' when the
 * connection was lost, which needs no listener; 'end'.
 */
export class Client extends EventEmitter {
  /** The class Query. */
  static Query: typeof Query;
  /**
   * @param config options, or a connection string
   * @throws {TypeError|Error} for an invalid connection string
   */
  constructor(config?: string | ClientConfig);
  /** The user. */
  readonly user?: string;
  /** The database. */
  readonly database?: string;
  /** The server's port. */
  readonly port: number;
  /** Name, address, or directory of a Unix socket. */
  readonly host: string;
  /** The password, or a function; not enumerable. */
  password?: any;
  /** Options of tls.connect, or whether TLS is used; not enumerable. */
  ssl: any;
  /** The config after defaults. */
  readonly connectionParameters: any;
  /** Emits 'parameterStatus', and for a cursor 'rowDescription' `({ fields })`; `stream.destroy()` closes it. */
  readonly connection: Connection;
  /** The option `pipeline`. */
  readonly pipeline: boolean;
  /** The server process; null without a connection. */
  readonly processID: number | null;

  /**
   * Connects, once.
   * @param callback in place of a promise, called with an error or null
   * @returns this client; nothing with a callback. Rejects with the server's DatabaseError; with a ConnectionError if
   *   no server answers ('timeout expired' after `connectionTimeoutMillis`); with a TypeError for an invalid config;
   *   with an Error the second time
   */
  connect(): Promise<this>;
  connect(callback: (error: Error) => void): void;
  /**
   * Closes the connection. A running query rejects, unless the config has `pipeline`.
   * @param callback in place of a promise
   * @returns resolves when it is closed, lost or was never open; never rejects
   */
  end(): Promise<void>;
  end(callback: (error: Error) => void): void;
  /** @param text COPY … TO STDOUT @param options signal, highWaterMark, stall_timeout @returns a Readable */
  copyTo(text: string, options?: CopyToOptions): CopyTo;
  /** @param text COPY … FROM STDIN @param options signal, highWaterMark @returns a Writable */
  copyFrom(text: string, options?: CopyStreamOptions): CopyFrom;
  /** @returns 'I', 'T', 'E', or null without a connection */
  getTransactionStatus(): TransactionStatus;
  /** See TypeOverrides. */
  setTypeParser: TypeOverrides['setTypeParser'];
  /** See TypeOverrides. */
  getTypeParser: TypeOverrides['getTypeParser'];
  /** @param name of a table, column, … @returns the name in double quotes */
  escapeIdentifier(name: string): string;
  /** @param text any text @returns the text in single quotes; ` E'…'` if it has a backslash */
  escapeLiteral(text: string): string;
  /** Delays the event 'drain' until resumeDrain(). */
  pauseDrain(): void;
  /** Emits a delayed 'drain', and lets it come again. */
  resumeDrain(): void;
  /** Lets the connection keep the program running, which is the default. */
  ref(): void;
  /** Lets the program end although the connection is open. */
  unref(): void;

  on(event: 'drain' | 'connect' | 'end', listener: () => void): this;
  on(event: 'error', listener: (error: Error) => void): this;
  on(event: 'notice', listener: (notice: ServerFields) => void): this;
  on(event: 'notification', listener: (message: Notification) => void): this;
  on(event: string | symbol, listener: (...args: any[]) => void): this;
}

/** The same as Client. */
export { Client as ClientBase };

/** The `connection` of a client. Methods that write messages exist only while a Submittable owns it. */
export class Connection extends EventEmitter {
  /** @param config any @throws {TypeError} always: only a client makes one */
  constructor(config?: ConnectionConfig);
  /**
   * The stream to the server: a net.Socket or a tls.TLSSocket. Before and after the connection it has `destroy()` and
   * `end()` alone.
   */
  readonly stream: Duplex;
  /** Sends Bind. @param config its fields @param more whether another message follows */
  bind(config: BindConfig | null, more: boolean): void;
  /** Sends Execute. @param config its fields @param more whether another message follows */
  execute(config: ExecuteConfig | null, more: boolean): void;
  /** Sends Parse. @param query its fields @param more whether another message follows */
  parse(query: QueryParse, more: boolean): void;
  /** Sends a simple query. @param text SQL */
  query(text: string): void;
  /** Sends Describe. @param message its fields @param more whether another message follows */
  describe(message: MessageConfig, more: boolean): void;
  /** Sends Close. @param message its fields @param more whether another message follows */
  close(message: MessageConfig, more: boolean): void;
  /** Sends a Flush. */
  flush(): void;
  /** Sends a Sync. */
  sync(): void;
  /** Closes the connection. */
  end(): void;
}

/** Fields of Parse. */
export interface QueryParse {
  /** The statement's name. */
  name: string;
  /** SQL. */
  text: string;
  /** The parameters' types. */
  types: string[];
}

/** Fields of Bind. */
export interface BindConfig {
  /** The portal's name. */
  portal?: string | undefined;
  /** The statement's name. */
  statement?: string | undefined;
  /** Whether values come in binary format. */
  binary?: string | undefined;
  /** Values of the parameters. */
  values?: Array<Buffer | null | undefined | string> | undefined;
  /** Converts a value. */
  valueMapper?: ((param: any, index: number) => any) | undefined;
}

/** Fields of Execute. */
export interface ExecuteConfig {
  /** The portal's name. */
  portal?: string | undefined;
  /** How many rows. */
  rows?: string | undefined;
}

/** Fields of Describe and Close. */
export interface MessageConfig {
  /** 'S' for a statement, 'P' for a portal. */
  type: string;
  /** The name. */
  name?: string | undefined;
}

/** An EventEmitter with a client's event 'error'. */
export class Events extends EventEmitter {
  on(event: 'error', listener: (error: Error, client: Client) => void): this;
}

/** A client of a pool. */
export interface PoolClient extends Client {
  /**
   * Gives the client back.
   * @param destroy true, or an error, closes the connection
   * @throws {Error} the second time
   */
  release(destroy?: Error | boolean): void;
}

/** Options of a pool. */
export interface PoolConfig extends ClientConfig {
  /** The most connections. Default: 10. */
  max?: number | undefined;
  /** Milliseconds until an unused connection is closed; 0 for never. Default: 10000. */
  idleTimeoutMillis?: number | undefined | null;
  /** Seconds until a connection is replaced; 0 for never. Default: 0. */
  maxLifetimeSeconds?: number | undefined;
  /** Connections that `idleTimeoutMillis` leaves open. Default: 0. */
  min?: number | undefined;
  /** Called with each new client before any other query; its error goes to the waiting request. Default: none. */
  onConnect?: ((client: any) => void) | undefined;
  /** Called like onConnect; calls back when the client may be used, or with an error. Default: none. */
  verify?: ((client: any, done: (error?: Error) => void) => void) | undefined;
  /** Uses after which a connection is closed. Default: Infinity. */
  maxUses?: number | undefined;
  /** Whether an unused pool lets the program end. Default: false. */
  allowExitOnIdle?: boolean | undefined;
  /** Called with messages about the pool's actions. Default: none. */
  log?: ((...messages: any[]) => void) | undefined;
  /** The class of the promises. Default: JavaScript's. */
  Promise?: PromiseConstructorLike | undefined;
  /** The class of the clients, which extends Client. Default: Client. */
  Client?: (new () => any) | undefined;
}

/** The options of a pool after defaults. */
export type PoolOptions = PoolConfig &
  Required<Pick<PoolConfig, 'max' | 'maxUses' | 'allowExitOnIdle' | 'maxLifetimeSeconds' | 'idleTimeoutMillis'>>;

/**
 * The methods of Queryable: connections may be shared, and statements are prepared. They also reject as `connect`, and with a
 * UsageError for a text that leaves a transaction block open, which is rolled back.
 */
export interface Pool extends Queryable {}
/**
 * Connections for queries, and clients to take. Events: 'connect' before the first use of a client; 'acquire' and
 * 'release' around each use by `connect`; 'remove'; 'error' when an unused connection was lost, which needs no
 * listener.
 */
export class Pool extends EventEmitter {
  /**
   * @param config options, or a connection string
   * @throws {TypeError|Error} for an invalid connection string, and for wrong options
   */
  constructor(config?: string | PoolConfig);
  /** The class of the clients. */
  readonly Client: typeof Client;
  /** The options after defaults. */
  readonly options: PoolOptions;
  /** Whether end() was called. */
  readonly ending: boolean;
  /** Whether end() has closed all connections. */
  readonly ended: boolean;
  /** Taken connections that are older than maxLifetimeSeconds, which are closed when they are released. */
  readonly expiredCount: number;
  /** Connections that are open or being opened. */
  readonly totalCount: number;
  /** Unused connections. */
  readonly idleCount: number;
  /** Requests that wait, beyond the connections that are being opened. */
  readonly waitingCount: number;

  /**
   * Takes a client until it is released.
   * @param callback in place of a promise, called with an error or undefined, the client, and its release
   * @returns the client; nothing with a callback. Rejects as `Client.connect`; with a ConnectionError (53300) after
   *   `connectionTimeoutMillis`; with an Error after end()
   */
  connect(): Promise<PoolClient>;
  connect(
    callback: (error: Error | undefined, client: PoolClient | undefined, done: (release?: any) => void) => void
  ): void;
  /**
   * Closes the connections when they are released.
   * @param callback in place of a promise
   * @returns resolves when they are closed; rejects with an Error the second time
   */
  end(): Promise<void>;
  end(callback: () => void): void;

  on(event: 'release', listener: (error: Error | boolean | undefined, client: PoolClient) => void): this;
  on(event: 'error', listener: (error: Error, client: PoolClient) => void): this;
  on(event: 'connect' | 'acquire' | 'remove', listener: (client: PoolClient) => void): this;
  on(event: string | symbol, listener: (...args: any[]) => void): this;
}

/**
 * A query with events: 'row' for each row as it arrives, then 'end', or 'error'. Rows are kept for a callback, or if
 * nothing listens to 'row'.
 */
export class Query<R extends QueryResultRow = any> extends EventEmitter implements Submittable {
  /** @param config a text, or a config @param values of the parameters @param callback in place of events */
  constructor(config?: string | QueryConfig, callback?: (error: Error | undefined, result: ResultBuilder<R>) => void);
  constructor(
    config?: string | QueryConfig,
    values?: any[],
    callback?: (error: Error | undefined, result: ResultBuilder<R>) => void
  );
  /** A client recognizes a Submittable by this method. */
  submit(): void;
  on(event: 'row', listener: (row: R, result: QueryResult<R>) => void): this;
  on(event: 'error', listener: (error: Error) => void): this;
  on(event: 'end', listener: (result: QueryResult<R>) => void): this;
  on(event: string | symbol, listener: (...args: any[]) => void): this;
}

/** The result of a Query. */
export interface ResultBuilder<R extends QueryResultRow = any> extends QueryResult<R> {
  /** Adds a row. */
  addRow(row: R): void;
}

/** The result of one statement. */
export class Result<R extends QueryResultRow = any> implements QueryResult<R> {
  /** @param rowMode 'array' for rows that are arrays @param types parsers of the values; default: `types` */
  constructor(rowMode?: string, types?: CustomTypesConfig);
  /** @param fields the columns, for parseRow */
  addFields(fields: FieldDef[]): void;
  /** @param data texts of a row's columns, null for NULL @returns the row */
  parseRow(data: Array<string | null>): R;
  /** @param message with the command's tag */
  addCommandComplete(message: { text?: string; command?: string }): void;
  /** Adds a row. */
  addRow(row: R): void;
  /** First word of the command; null for an empty text. */
  command: string;
  /** Rows returned or changed; null if the command counts none. */
  rowCount: number | null;
  /** The OID in an INSERT's tag; null for other commands. */
  oid: number;
  /** The columns, empty if the command returns no rows. */
  fields: FieldDef[];
  /** Objects, or arrays. */
  rows: R[];
  /** Whether the rows are arrays. */
  rowAsArray: boolean;
}

export {};
/** The fields that the server sends. */
type Field =
  | 'severity'
  | 'code'
  | 'detail'
  | 'hint'
  | 'position'
  | 'internalPosition'
  | 'internalQuery'
  | 'where'
  | 'schema'
  | 'table'
  | 'column'
  | 'dataType'
  | 'constraint'
  | 'file'
  | 'line'
  | 'routine';
declare const ServerError: new (
  fields: ServerFields
) => Omit<PostgresError, Field | 'name'> & Record<Field, string | undefined>;

/** An error that the server reported. All fields are there, and numbers are strings. */
export class DatabaseError extends ServerError {
  /**
   * @param fields that the server sent, or a message
   * @param length of the server's message, in bytes; default: that of the fields
   * @param name default: 'error'
   */
  constructor(fields: ServerFields | string, length?: number, name?: string);
  /** 'error'. */
  name: any;
  /** Bytes of the server's message. */
  readonly length: number;
}

/** Parsers in front of those of other types. */
export class TypeOverrides implements CustomTypesConfig {
  /** @param types for types that have no parser here; default: `types` */
  constructor(types?: CustomTypesConfig);
  /**
   * Sets the parser of a type.
   * @param oid of the type
   * @param format 'text' by default
   * @param parse takes a text, or the bytes in binary format; never NULL
   */
  setTypeParser(oid: number, parse: TypeParser): void;
  setTypeParser(oid: number, format: TypeFormat, parse: TypeParser): void;
  /** @param oid of the type @param format 'text' by default @returns the parser */
  getTypeParser(oid: number, format?: TypeFormat): TypeParser;
  /** The option `decode` of a query; a new one after a parser was set. */
  readonly decode: Map<number, any>;
}

/** The parsers of all clients. */
export const types: TypeOverrides & {
  /** OIDs of PostgreSQL's basic types, by names in capitals. */
  readonly builtins: Readonly<
    Record<string, number> &
      Record<
        | 'BOOL'
        | 'BYTEA'
        | 'DATE'
        | 'FLOAT4'
        | 'FLOAT8'
        | 'INT2'
        | 'INT4'
        | 'INT8'
        | 'INTERVAL'
        | 'JSON'
        | 'JSONB'
        | 'NUMERIC'
        | 'TIME'
        | 'TIMESTAMP'
        | 'TIMESTAMPTZ'
        | 'TIMETZ'
        | 'UUID',
        number
      >
  >;
  /** Reads the literal of an array. */
  readonly arrayParser: { create(text: string, parse?: TypeParser): { parse(): any[] } };
};

/** Used if neither the config nor the environment has an option. Programs may change it. */
export const defaults: Defaults;

/** The type of `defaults`. */
export interface Defaults extends PoolConfig {
  /** Whether a Date is sent in UTC instead of local time. Default: false. */
  parseInputDatesAsUTC?: boolean;
  /** Set it to read int8 as a number, which may lose digits. Default: false, a string. */
  parseInt8?: boolean;
  /** The program's own properties. */
  [name: string]: any;
}

/** node-postgres' utils, as far as tools use them. */
export const utils: {
  /** @param value of a parameter @returns what is sent for it */
  prepareValue(value: any): string | Buffer | null;
  escapeIdentifier(name: string): string;
  escapeLiteral(text: string): string;
};

/** @param name of a table, column, … @returns the name in double quotes */
export function escapeIdentifier(name: string): string;
/** @param text any text @returns the text in single quotes; ` E'…'` if it has a backslash */
export function escapeLiteral(text: string): string;
