/// <reference types="node" />

import { EventEmitter } from 'node:events';
import { Duplex } from 'node:stream';
import { ConnectionOptions } from 'node:tls';
import { CopyFrom, CopyStreamOptions, CopyTo, CopyToOptions, PostgresError, ServerFields } from 'quickgres';

/** A function that makes a JavaScript value of a text, or of the bytes of a binary value. */
export type TypeParser<T = any> = (value: any) => T;

/** Format of values. */
export type TypeFormat = 'text' | 'binary';

/** What says how values are read, by type OID and format. */
export interface CustomTypesConfig {
  /** @param oid of the type @param format 'text' by default @returns how its values are read */
  getTypeParser(oid: number, format?: any): any;
}

/** A column of a result. */
export interface FieldDef {
  /** Not necessarily the only one of this name. */
  name: string;
  /** OID of the table, 0 where the column is none of a table. */
  tableID: number;
  /** Number of the column in its table, from 1, or 0. */
  columnID: number;
  /** OID of its type. */
  dataTypeID: number;
  /** Size of the type in bytes, negative for variable sizes. */
  dataTypeSize: number;
  /** As in pg_attribute.atttypmod. */
  dataTypeModifier: number;
  /** Of its values: 'text' or 'binary'. */
  format: string;
}

/** A row as an object. */
export interface QueryResultRow {
  /** Columns by name; of several with one name the last. */
  [column: string]: any;
}

/** What every result has. */
export interface QueryResultBase {
  /** First word of the command; null of an empty text. */
  command: string;
  /** Rows returned or changed; null of a command that counts none. */
  rowCount: number | null;
  /** The OID in the tag of an INSERT, null of any other command. */
  oid: number;
  /** The columns, none of a command that returns no rows. */
  fields: FieldDef[];
}

/** A result whose rows are objects. */
export interface QueryResult<R extends QueryResultRow = any> extends QueryResultBase {
  /** Columns by name, as the parsers of their types read them; null for NULL. */
  rows: R[];
}

/** A result whose rows are arrays. */
export interface QueryArrayResult<R extends any[] = any[]> extends QueryResultBase {
  /** The values in column order. */
  rows: R[];
}

/** Values of parameters. */
export type QueryConfigValues<T> = T extends any[] ? T : never;

/** A query: its text, and what else there is to say. */
export interface QueryConfig<I = any[]> {
  /** SQL, with parameters as $1, $2, … */
  text: string;
  /** Of the parameters, none by default. */
  values?: I | undefined;
  /** Prepares it under this name; its text may be left out the next time. Another text is an Error. Default: none. */
  name?: string | undefined;
  /** How values are read. Default: as the client or the pool does. */
  types?: CustomTypesConfig | undefined;
  /** Whether values come in binary format. A query of text alone gives text. Default: that of the client. */
  binary?: boolean | undefined;
  /** Milliseconds after which it is cancelled, with the Error 'Query read timeout'. Default: that of the client. */
  query_timeout?: number | undefined;
  /** Cancels it when it aborts, with an AbortError of quickgres; node-postgres has no such option. Default: none. */
  signal?: AbortSignal | undefined;
  /** 'extended': one statement, also without values. Default: a text without values may have several. */
  queryMode?: 'extended' | undefined;
}

/** A query whose rows are to be arrays. */
export interface QueryArrayConfig<I = any[]> extends QueryConfig<I> {
  /** Rows are arrays of the values in column order. */
  rowMode: 'array';
}

/** What speaks the extended protocol itself, as a cursor of pg-cursor. */
export interface Submittable {
  /** Called when the connection is its own. @param connection with the methods that a cursor of pg-cursor calls */
  submit(connection: any): void;
}

/** Called with an error, or null (by a pool: undefined) and the result. What it throws is an uncaught exception. */
export type QueryCallback<R> = (error: Error, result: R) => void;

/** What can be asked, of a client or a pool. */
export interface Queryable {
  /**
   * Asks. A text without values may have several statements, and resolves to an array of their results then.
   * @param query what is submitted; or text, or a config
   * @param values of the parameters
   * @param callback in place of a promise
   * @returns the result; what was submitted (a pool takes it as a query, and gives a promise); nothing with a callback.
   *   Rejects with the DatabaseError that the server reported; with a ConnectionError of quickgres where there is no
   *   connection (its `sent` tells whether the server may have carried it out); with the Error 'Query read timeout';
   *   before anything is sent, with a TypeError or an Error for what cannot be asked
   * @throws {TypeError} for a callback that is no function; of a client, without a query
   */
  query<T extends Submittable>(query: T): T;
  query<R extends any[] = any[], I = any[]>(query: QueryArrayConfig<I>, values?: I): Promise<QueryArrayResult<R>>;
  query<R extends QueryResultRow = any, I = any[]>(query: string | QueryConfig<I>, values?: I): Promise<QueryResult<R>>;
  query<R extends any[] = any[], I = any[]>(
    query: QueryArrayConfig<I>, callback: QueryCallback<QueryArrayResult<R>>): void;
  query<R extends QueryResultRow = any, I = any[]>(
    query: string | QueryConfig<I>, callback: QueryCallback<QueryResult<R>>): void;
  query<R extends QueryResultRow = any, I = any[]>(
    query: string | QueryConfig<I>, values: I, callback: QueryCallback<QueryResult<R>>): void;
}

/** Where to connect to and how; what is left out says the environment, or `defaults`. */
export interface ClientConfig {
  /** Default: PGUSER, else `defaults.user`, which is who runs the program. */
  user?: string | undefined;
  /** Default: PGDATABASE, else the name of the user. */
  database?: string | undefined;
  /** A function is called at each connection. Default: PGPASSWORD, else the one in the password file. */
  password?: string | (() => string | Promise<string>) | undefined;
  /** Default: PGPORT, else 5432. */
  port?: number | undefined;
  /** Name, address, or directory of a socket. Default: PGHOST, else 'localhost'. */
  host?: string | undefined;
  /** Comes before the others: a URL, or a directory and the name of a database. Default: none. */
  connectionString?: string | undefined;
  /**
   * Options of tls.connect, or true: the certificate is verified; false: no TLS. Default: as
   * PGSSLMODE says, else false.
   */
  ssl?: boolean | ConnectionOptions | undefined;
  /** 'direct': TLS, without asking the server first. Default: PGSSLNEGOTIATION, else 'postgres'. */
  sslnegotiation?: 'postgres' | 'direct' | undefined;
  /** Whether the system probes a silent connection; true by default. */
  keepAlive?: boolean | undefined;
  /** Milliseconds of silence before the first probe, rounded down to seconds. Default: the system's. */
  keepAliveInitialDelayMillis?: number | undefined;
  /** Gives what connects in place of a socket. Default: a socket. */
  stream?: (() => Duplex | undefined) | undefined;
  /** Of each statement on the server, in milliseconds. Default, and for 0 and false: the server's setting. */
  statement_timeout?: number | false | undefined;
  /** For each wait for a lock, in milliseconds. Default, and for 0 and false: the server's setting. */
  lock_timeout?: number | undefined;
  /** Milliseconds after which the server ends a session whose transaction is idle. Default: the server's setting. */
  idle_in_transaction_session_timeout?: number | undefined;
  /** Milliseconds after which a query is cancelled, with the Error 'Query read timeout'. Default: never. */
  query_timeout?: number | undefined;
  /** Milliseconds to connect to an address; of a pool, to wait for a client. 0, the default, for no limit. */
  connectionTimeoutMillis?: number | undefined;
  /** What pg_stat_activity shows. Default: PGAPPNAME, else `fallback_application_name`. */
  application_name?: string | undefined;
  /** What counts without an application_name. Default: none. */
  fallback_application_name?: string | undefined;
  /** UTF8, the default, and no other: a TypeError. */
  client_encoding?: string | undefined;
  /** Options for the server process, such as -c geqo=off. Default: PGOPTIONS. */
  options?: string | undefined;
  /** true: a connection for physical replication; 'database': for logical replication. Default: an ordinary one. */
  replication?: string | boolean | undefined;
  /** How values are read. Default: `types`. */
  types?: CustomTypesConfig | undefined;
  /** Whether values of queries with parameters come in binary format; false by default. */
  binary?: boolean | undefined;
  /** true: end() waits for queries under way; false, the default: they reject. */
  pipeline?: boolean | undefined;
  /** Most prepared statements kept for a connection, 256 by default; 0: none, for old transaction poolers. */
  statement_cache?: number | undefined;
}

/** The same as ClientConfig. */
export type ConnectionConfig = ClientConfig;

/** What NOTIFY sent. */
export interface Notification {
  /** Of the server process of the notifying session. */
  processId: number;
  /** The name of the channel. */
  channel: string;
  /** What the notifying session said, '' where it said nothing. */
  payload?: string | undefined;
}

/** Outside a transaction block, in one, in one that has failed; null without a connection. */
export type TransactionStatus = 'I' | 'T' | 'E' | null;

/**
 * A connection. Its events: 'connect'; 'notification'; 'notice'; 'drain', when nothing is pending any more; 'error',
 * when the connection was lost, which without a listener does not end the program; 'end'.
 */
export class Client extends EventEmitter implements Queryable {
  /** The class Query. */
  static Query: typeof Query;
  /**
   * @param config where to connect to and how, or a connection string
   * @throws {TypeError|Error} for a connection string that cannot be read
   */
  constructor(config?: string | ClientConfig);
  /** Who connects. */
  readonly user?: string;
  /** What to. */
  readonly database?: string;
  /** Of the server. */
  readonly port: number;
  /** Name, address, or directory of a socket. */
  readonly host: string;
  /** The password, or what gives it; not enumerable, so that it is not logged. */
  password?: any;
  /** Options of tls.connect, or whether TLS is used; not enumerable, since a key may be in it. */
  ssl: any;
  /** What the config has come to. */
  readonly connectionParameters: any;
  /** Emits 'parameterStatus', and 'rowDescription' `({ fields })` of a cursor; `stream.destroy()` closes it. */
  readonly connection: Connection;
  /** Whether the config says `pipeline`. */
  readonly pipeline: boolean;
  /** Of the server process; null without a connection. */
  readonly processID: number | null;

  /**
   * Connects, once.
   * @param callback in place of a promise, called with an error, or null
   * @returns this client; nothing with a callback. Rejects with the DatabaseError of a server that refuses; with a
   *   ConnectionError of quickgres where no server answers ('timeout expired' after `connectionTimeoutMillis`); with a
   *   TypeError for a config that cannot be; with an Error where it was called before
   */
  connect(): Promise<this>;
  connect(callback: (error: Error) => void): void;
  /** As of Queryable; requests are sent at once and answered in order. One before connect() was called rejects. */
  query: Queryable['query'];
  /**
   * Closes the connection: at once where a query is under way, which rejects then; with `pipeline`, after it.
   * @param callback in place of a promise
   * @returns resolves when it is closed, also when it is lost or was never there; never rejects
   */
  end(): Promise<void>;
  end(callback: (error: Error) => void): void;
  /** @param text COPY … TO STDOUT @param options signal, highWaterMark, stall_timeout @returns a Readable */
  copyTo(text: string, options?: CopyToOptions): CopyTo;
  /** @param text COPY … FROM STDIN @param options signal, highWaterMark @returns a Writable */
  copyFrom(text: string, options?: CopyStreamOptions): CopyFrom;
  /** @returns outside a transaction block, in one, in one that has failed; null without a connection */
  getTransactionStatus(): TransactionStatus;
  /**
   * Says how values of a type are read from now on.
   * @param oid of the type
   * @param format 'text' by default
   * @param parse makes the value of a text, or of the bytes in binary format; never called for NULL
   */
  setTypeParser(oid: number, parse: TypeParser): void;
  setTypeParser(oid: number, format: TypeFormat, parse: TypeParser): void;
  /** @param oid of the type @param format 'text' by default @returns how its values are read */
  getTypeParser(oid: number, format?: TypeFormat): TypeParser;
  /** @param name of a table, column, … @returns it in double quotes */
  escapeIdentifier(name: string): string;
  /** @param text any @returns it in single quotes; ` E'…'` where a backslash is in it */
  escapeLiteral(text: string): string;
  /** Holds back the event 'drain' until resumeDrain() is called. */
  pauseDrain(): void;
  /** Lets the event 'drain' come again; one that was held back comes now. */
  resumeDrain(): void;
  /** The connection keeps the program running (the default). */
  ref(): void;
  /** The connection does not keep the program running. */
  unref(): void;

  on(event: 'drain' | 'connect' | 'end', listener: () => void): this;
  on(event: 'error', listener: (error: Error) => void): this;
  on(event: 'notice', listener: (notice: ServerFields) => void): this;
  on(event: 'notification', listener: (message: Notification) => void): this;
  on(event: string | symbol, listener: (...args: any[]) => void): this;
}

/** What a client and one of a pool have in common: the same as Client. */
export { Client as ClientBase };

/** `connection` of a client. The methods by which a Submittable writes messages are there while it is submitted. */
export class Connection extends EventEmitter {
  /** @param config of a connection @throws {TypeError} always: only a client makes one */
  constructor(config?: ConnectionConfig);
  /** The stream to the server; `destroy()` closes the connection. */
  readonly stream: Duplex;
  /** Binds values. @param config what @param more whether another message follows */
  bind(config: BindConfig | null, more: boolean): void;
  /** Executes a portal. @param config which @param more whether another message follows */
  execute(config: ExecuteConfig | null, more: boolean): void;
  /** Parses a text. @param query the statement @param more whether another message follows */
  parse(query: QueryParse, more: boolean): void;
  /** Sends a simple query. @param text SQL */
  query(text: string): void;
  /** Describes a statement or a portal. @param message which @param more whether another message follows */
  describe(message: MessageConfig, more: boolean): void;
  /** Closes a statement or a portal. @param message which @param more whether another message follows */
  close(message: MessageConfig, more: boolean): void;
  /** Sends a Flush. */
  flush(): void;
  /** Sends a Sync. */
  sync(): void;
  /** Closes the connection. */
  end(): void;
}

/** What `Connection.parse` takes. */
export interface QueryParse {
  /** Of the statement. */
  name: string;
  /** SQL. */
  text: string;
  /** Of the parameters. */
  types: string[];
}

/** What `Connection.bind` takes. */
export interface BindConfig {
  /** Name of the portal. */
  portal?: string | undefined;
  /** Name of the statement. */
  statement?: string | undefined;
  /** Whether values come in binary format. */
  binary?: string | undefined;
  /** Of the parameters. */
  values?: Array<Buffer | null | undefined | string> | undefined;
  /** Converts a value. */
  valueMapper?: ((param: any, index: number) => any) | undefined;
}

/** What `Connection.execute` takes. */
export interface ExecuteConfig {
  /** Name of the portal. */
  portal?: string | undefined;
  /** How many rows. */
  rows?: string | undefined;
}

/** What `Connection.describe` and `close` take. */
export interface MessageConfig {
  /** 'S' for a statement, 'P' for a portal. */
  type: string;
  /** Its name. */
  name?: string | undefined;
}

/** An EventEmitter with the event 'error' of a client. */
export class Events extends EventEmitter {
  on(event: 'error', listener: (error: Error, client: Client) => void): this;
}

/** A client that was taken from a pool. */
export interface PoolClient extends Client {
  /**
   * Gives it back.
   * @param destroy true, or an error: the connection is closed
   * @throws {Error} where it has been given back already
   */
  release(destroy?: Error | boolean): void;
}

/** Options of a pool. */
export interface PoolConfig extends ClientConfig {
  /** Most connections; 10 by default. */
  max?: number | undefined;
  /** Milliseconds after which an unused connection is closed; 10000 by default, 0 for never. */
  idleTimeoutMillis?: number | undefined | null;
  /** Seconds after which a connection is replaced; 0, the default, for never. */
  maxLifetimeSeconds?: number | undefined;
  /** Connections that `idleTimeoutMillis` leaves open; 0 by default. */
  min?: number | undefined;
  /** Called with each new client before anything else is asked of it; where it fails, who waits gets its error. Default: none. */
  onConnect?: ((client: any) => void) | undefined;
  /** Called as onConnect, and calls back when the client may be used, or with an error. Default: none. */
  verify?: ((client: any, done: (error?: Error) => void) => void) | undefined;
  /** A connection is closed after so many uses. Default: never. */
  maxUses?: number | undefined;
  /** true: a pool that nobody uses does not keep the program running. Default: false. */
  allowExitOnIdle?: boolean | undefined;
  /** Called with what the pool does, in a few words. Default: none. */
  log?: ((...messages: any[]) => void) | undefined;
  /** What the promises are made by. Default: JavaScript's Promise. */
  Promise?: PromiseConstructorLike | undefined;
  /** Not there: a TypeError. Default: none. */
  Client?: (new () => any) | undefined;
}

/** Options of a pool with the defaults. */
export interface PoolOptions extends PoolConfig {
  /** Most connections. Default: 10. */
  max: number;
  /** Uses after which a connection is closed. Default: Infinity. */
  maxUses: number;
  /** Whether a pool that nobody uses lets the program end. Default: false. */
  allowExitOnIdle: boolean;
  /** Seconds after which a connection is replaced. Default: 0, never. */
  maxLifetimeSeconds: number;
  /** Milliseconds after which an unused connection is closed. Default: 10000. */
  idleTimeoutMillis: number | null;
}

/**
 * Connections of which one asks the next that is free, or takes one for a while. Its events: 'connect', before anything
 * is asked of a client; 'acquire' and 'release', of what `connect` gives; 'remove'; 'error': a connection was lost that
 * nobody had taken, which without a listener does not end the program.
 */
export class Pool extends EventEmitter implements Queryable {
  /**
   * @param config of the clients and the pool, or a connection string
   * @throws {TypeError|Error} for a connection string that cannot be read, for wrong options, onConnect and verify
   */
  constructor(config?: string | PoolConfig);
  /** Makes one outside of the pool: Kysely cancels queries by it. */
  readonly Client: typeof Client;
  /** What was given, with the defaults. */
  readonly options: PoolOptions;
  /** Whether end() was called. */
  readonly ending: boolean;
  /** Whether end() has closed all connections. */
  readonly ended: boolean;
  /** Connections that are taken and older than maxLifetimeSeconds: they are closed when they are released. */
  readonly expiredCount: number;
  /** Connections that there are or are being made. */
  readonly totalCount: number;
  /** Those that nobody uses. */
  readonly idleCount: number;
  /** Who waits for one, beside those for whom one is being made. */
  readonly waitingCount: number;

  /**
   * Takes a client until it is released.
   * @param callback in place of a promise, called with an error, or undefined, the client, and its release
   * @returns the client; nothing with a callback. Rejects as `Client.connect`; with a ConnectionError (53300) of
   *   quickgres after `connectionTimeoutMillis`, whose cause says more; with an Error after end()
   */
  connect(): Promise<PoolClient>;
  connect(callback: (
    error: Error | undefined, client: PoolClient | undefined, done: (release?: any) => void) => void): void;
  /**
   * As of Queryable, on a connection that may be shared; it prepares. Rejects, too, as `connect`; and with a UsageError
   * of quickgres for a text that leaves a transaction block open, which is rolled back.
   */
  query: Queryable['query'];
  /**
   * Closes the connections, when they have been released.
   * @param callback in place of a promise
   * @returns resolves when they are closed; rejects with an Error where it was called before
   */
  end(): Promise<void>;
  end(callback: () => void): void;

  on(event: 'release', listener: (error: Error | boolean | undefined, client: PoolClient) => void): this;
  on(event: 'error', listener: (error: Error, client: PoolClient) => void): this;
  on(event: 'connect' | 'acquire' | 'remove', listener: (client: PoolClient) => void): this;
  on(event: string | symbol, listener: (...args: any[]) => void): this;
}

/** A query that tells by events: 'row', then 'end', or 'error'. */
export class Query<R extends QueryResultRow = any> extends EventEmitter implements Submittable {
  /** @param config text, or a config @param values of the parameters @param callback in place of events */
  constructor(config?: string | QueryConfig, callback?: (error: Error | undefined, result: ResultBuilder<R>) => void);
  constructor(config?: string | QueryConfig, values?: any[],
    callback?: (error: Error | undefined, result: ResultBuilder<R>) => void);
  /** By this a client knows what is submitted to it. */
  submit(): void;
  on(event: 'row', listener: (row: R, result: QueryResult<R>) => void): this;
  on(event: 'error', listener: (error: Error) => void): this;
  on(event: 'end', listener: (result: QueryResult<R>) => void): this;
  on(event: string | symbol, listener: (...args: any[]) => void): this;
}

/** A result as a Query tells of it. */
export interface ResultBuilder<R extends QueryResultRow = any> extends QueryResult<R> {
  /** Adds a row. */
  addRow(row: R): void;
}

/** The result of one statement. */
export class Result<R extends QueryResultRow = any> implements QueryResult<R> {
  /** @param rowMode 'array': rows are arrays @param types read the values; default: `types` */
  constructor(rowMode?: string, types?: CustomTypesConfig);
  /** @param fields the columns, for parseRow */
  addFields(fields: FieldDef[]): void;
  /** @param data texts of a row's columns, null for NULL @returns the row, as the parsers of its types read it */
  parseRow(data: Array<string | null>): R;
  /** @param message with the tag of the command */
  addCommandComplete(message: { text?: string; command?: string }): void;
  /** Adds a row. */
  addRow(row: R): void;
  /** First word of the command; null of an empty text. */
  command: string;
  /** Rows returned or changed; null of a command that counts none. */
  rowCount: number | null;
  /** The OID in the tag of an INSERT, null of any other command. */
  oid: number;
  /** The columns, none of a command that returns no rows. */
  fields: FieldDef[];
  /** Objects, or arrays. */
  rows: R[];
  /** Whether the rows are arrays. */
  rowAsArray: boolean;
}

export {};
/** The fields that the server sends, by the names of PostgresError. */
type Field = 'severity' | 'code' | 'detail' | 'hint' | 'position' | 'internalPosition' | 'internalQuery' | 'where' |
  'schema' | 'table' | 'column' | 'dataType' | 'constraint' | 'file' | 'line' | 'routine';
declare const ServerError: new (fields: ServerFields) => Omit<PostgresError, Field | 'name'> & Record<Field, string | undefined>;

/** An error that the server reported. Every field is there, its numbers as strings. */
export class DatabaseError extends ServerError {
  /** @param fields that the server sent, or a message */
  constructor(fields: ServerFields | string);
  /** 'error'. */
  name: any;
  /** Bytes of the message that told of it. */
  readonly length: number;
}

/** Parsers which come before those of other types. */
export class TypeOverrides implements CustomTypesConfig {
  /** @param types asked for what is not set here; default: `types` */
  constructor(types?: CustomTypesConfig);
  /**
   * Says how values of a type are read from now on.
   * @param oid of the type
   * @param format 'text' by default
   * @param parse makes the value of a text, or of the bytes in binary format; never called for NULL
   */
  setTypeParser(oid: number, parse: TypeParser): void;
  setTypeParser(oid: number, format: TypeFormat, parse: TypeParser): void;
  /** @param oid of the type @param format 'text' by default @returns how its values are read */
  getTypeParser(oid: number, format?: TypeFormat): TypeParser;
  /** The option `decode` of a query; another one when parsers have been set. */
  readonly decode: Map<number, any>;
}

/** How the values of all clients are read. */
export const types: TypeOverrides & {
  /** OIDs of PostgreSQL's basic types by their names in capitals. */
  readonly builtins: Readonly<Record<string, number>>;
  /** Reads the literal of an array. */
  readonly arrayParser: { create(text: string, parse?: TypeParser): { parse(): any[] } };
};

/** What counts where neither a config nor the environment says something; a program may change it. */
export const defaults: Defaults;

/** What counts where neither a config nor the environment says something. */
export interface Defaults extends PoolConfig {
  /** Whether a Date is sent in UTC, not in local time with its offset; false by default. */
  parseInputDatesAsUTC?: boolean;
  /** To be set: whether an int8 is read as a number, which may lose digits. It is a string by default. */
  parseInt8?: boolean;
  /** Whatever a program keeps here. */
  [name: string]: any;
}

/** What tools take of node-postgres' utils. */
export const utils: {
  /** @param value of a parameter @returns what is sent for it */
  prepareValue(value: any): string | Buffer | null;
  escapeIdentifier(name: string): string;
  escapeLiteral(text: string): string;
};

/** @param name of a table, column, … @returns it in double quotes */
export function escapeIdentifier(name: string): string;
/** @param text any @returns it in single quotes; ` E'…'` where a backslash is in it */
export function escapeLiteral(text: string): string;
