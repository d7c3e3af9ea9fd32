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
  name: string;
  tableID: number;
  columnID: number;
  /** OID of its type. */
  dataTypeID: number;
  dataTypeSize: number;
  dataTypeModifier: number;
  /** 'text' or 'binary'. */
  format: string;
}

export interface QueryResultRow {
  [column: string]: any;
}

/** What every result has. */
export interface QueryResultBase {
  /** First word of the command. */
  command: string;
  /** Rows returned or changed; null of a command that counts none. */
  rowCount: number | null;
  oid: number;
  fields: FieldDef[];
}

/** A result whose rows are objects. */
export interface QueryResult<R extends QueryResultRow = any> extends QueryResultBase {
  rows: R[];
}

/** A result whose rows are arrays. */
export interface QueryArrayResult<R extends any[] = any[]> extends QueryResultBase {
  rows: R[];
}

/** A query: its text, and what else there is to say. */
export interface QueryConfig<I = any[]> {
  text: string;
  /** Of the parameters. */
  values?: I | undefined;
  /** Prepares it under this name; its text may be left out the next time. */
  name?: string | undefined;
  /** How values are read. */
  types?: CustomTypesConfig | undefined;
  /** Whether values come in binary format. */
  binary?: boolean | undefined;
  /** Milliseconds after which it is cancelled. */
  query_timeout?: number | undefined;
  /** 'extended': also without values, so one statement alone. */
  queryMode?: 'extended' | undefined;
}

/** A query whose rows are to be arrays. */
export interface QueryArrayConfig<I = any[]> extends QueryConfig<I> {
  rowMode: 'array';
}

/** What speaks the extended protocol itself, as a cursor of pg-cursor. */
export interface Submittable {
  submit(connection: any): void;
}

/** Called with an error, or null and the result. */
export type QueryCallback<R> = (error: Error, result: R) => void;

/** What can be asked, of a client or a pool. */
export interface Queryable {
  /**
   * Asks. A text without values may have several statements, and resolves to an array of their results then.
   * @param query what is submitted; or text, or a config
   * @param values of the parameters
   * @param callback in place of a promise
   * @returns the result; what was submitted; nothing with a callback
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
  user?: string | undefined;
  database?: string | undefined;
  /** A function is called at each connection. */
  password?: string | (() => string | Promise<string>) | undefined;
  port?: number | undefined;
  /** Name, address, or directory of a socket. */
  host?: string | undefined;
  /** Comes before the others: a URL, or a directory and the name of a database. */
  connectionString?: string | undefined;
  /** Options of tls.connect, or true: the certificate is verified. */
  ssl?: boolean | string | ConnectionOptions | undefined;
  sslnegotiation?: 'postgres' | 'direct' | undefined;
  keepAlive?: boolean | undefined;
  keepAliveInitialDelayMillis?: number | undefined;
  /** What connects in place of a socket. */
  stream?: Duplex | (() => Duplex) | undefined;
  /** Milliseconds; 0 or false: the server's setting. */
  statement_timeout?: number | false | undefined;
  lock_timeout?: number | false | undefined;
  idle_in_transaction_session_timeout?: number | undefined;
  /** Milliseconds after which a query is cancelled. */
  query_timeout?: number | undefined;
  /** Milliseconds; of a pool, how long one waits for a client. */
  connectionTimeoutMillis?: number | undefined;
  application_name?: string | undefined;
  fallback_application_name?: string | undefined;
  client_encoding?: string | undefined;
  options?: string | undefined;
  replication?: string | boolean | undefined;
  /** How values are read. */
  types?: CustomTypesConfig | undefined;
  /** Whether values of queries with parameters come in binary format. */
  binary?: boolean | undefined;
  /** Whether end() waits for queries under way. */
  pipeline?: boolean | undefined;
  /** Most prepared statements kept for a connection; 0: none, for old transaction poolers. */
  statement_cache?: number | undefined;
}

/** What NOTIFY sent. */
export interface Notification {
  processId: number;
  channel: string;
  payload?: string | undefined;
}

/** A connection. */
export class Client extends EventEmitter implements Queryable {
  static Query: typeof Query;
  /** @param config where to connect to and how, or a connection string */
  constructor(config?: string | ClientConfig);
  readonly user?: string;
  readonly database?: string;
  readonly port: number;
  readonly host: string;
  readonly password?: any;
  readonly ssl?: any;
  /** What the config has come to. */
  readonly connectionParameters: any;
  /** Emits 'parameterStatus' and 'end'; `stream.destroy()` closes the connection. */
  readonly connection: EventEmitter & { stream: { destroy(error?: Error): void } };
  /** Of the server process; null without a connection. */
  readonly processID: number | null;

  /** Connects, once. @param callback in place of a promise @returns this client; nothing with a callback */
  connect(): Promise<this>;
  connect(callback: (error: Error) => void): void;
  query: Queryable['query'];
  /**
   * Closes the connection, at once where a query is under way.
   * @param callback in place of a promise
   * @returns resolves when it is closed
   */
  end(): Promise<void>;
  end(callback: (error: Error) => void): void;
  /** @param text COPY … TO STDOUT @param options signal, highWaterMark, stall_timeout @returns a Readable */
  copyTo(text: string, options?: CopyToOptions): CopyTo;
  /** @param text COPY … FROM STDIN @param options signal, highWaterMark @returns a Writable */
  copyFrom(text: string, options?: CopyStreamOptions): CopyFrom;
  /** @returns outside a transaction block, in one, in one that has failed; null without a connection */
  getTransactionStatus(): 'I' | 'T' | 'E' | null;
  /** @param oid of the type @param parse a text @param format 'text' by default */
  setTypeParser(oid: number, parse: TypeParser): void;
  setTypeParser(oid: number, format: TypeFormat, parse: TypeParser): void;
  /** @param oid of the type @param format 'text' by default @returns how its values are read */
  getTypeParser(oid: number, format?: TypeFormat): TypeParser;
  /** @param name of a table, column, … @returns it in double quotes */
  escapeIdentifier(name: string): string;
  /** @param text any @returns it in single quotes */
  escapeLiteral(text: string): string;
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

/** A client that was taken from a pool. */
export interface PoolClient extends Client {
  /** Gives it back. @param destroy true, or an error: the connection is closed */
  release(destroy?: Error | boolean): void;
}

/** Options of a pool. */
export interface PoolConfig extends ClientConfig {
  /** Most connections; 10 by default. */
  max?: number | undefined;
  /** Milliseconds after which an unused connection is closed; 10000 by default, 0 for never. */
  idleTimeoutMillis?: number | undefined;
  /** Seconds after which a connection is replaced; 0, the default, for never. */
  maxLifetimeSeconds?: number | undefined;
}

/** Connections of which one asks the next that is free, or takes one for a while. */
export class Pool extends EventEmitter implements Queryable {
  /** @param config of the clients and the pool, or a connection string */
  constructor(config?: string | PoolConfig);
  /** What was given, with the defaults. */
  readonly options: PoolConfig;
  /** Whether end() was called. */
  readonly ending: boolean;
  /** Connections that there are. */
  readonly totalCount: number;
  /** Those that nobody uses. */
  readonly idleCount: number;
  /** Who waits for one. */
  readonly waitingCount: number;

  /**
   * Takes a client until it is released.
   * @param callback in place of a promise
   * @returns the client; nothing with a callback
   */
  connect(): Promise<PoolClient>;
  connect(callback: (
    error: Error | undefined, client: PoolClient | undefined, done: (release?: any) => void) => void): void;
  query: Queryable['query'];
  /**
   * Closes the connections, when they have been released.
   * @param callback in place of a promise
   * @returns resolves when they are closed
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
  constructor(config?: string | QueryConfig, values?: any[] | QueryCallback<QueryResult<R>>,
    callback?: QueryCallback<QueryResult<R>>);
  /** By this a client knows what is submitted to it. */
  submit(): void;
  on(event: 'row', listener: (row: R, result: QueryResult<R>) => void): this;
  on(event: 'error', listener: (error: Error) => void): this;
  on(event: 'end', listener: (result: QueryResult<R>) => void): this;
  on(event: string | symbol, listener: (...args: any[]) => void): this;
}

/** The result of one statement. */
export class Result<R extends QueryResultRow = any> implements QueryResult<R> {
  /** @param reader of the statement @param rowMode 'array': rows are arrays */
  constructor(reader: any, rowMode?: string);
  command: string;
  rowCount: number | null;
  oid: number;
  fields: FieldDef[];
  rows: R[];
  /** Whether the rows are arrays. */
  rowAsArray: boolean;
}

export {};
type Texts = 'position' | 'internalPosition' | 'line';
declare const ServerError: new (fields: ServerFields) => Omit<PostgresError, Texts | 'name'>;

/** An error that the server reported. */
export class DatabaseError extends ServerError {
  /** @param message what happened @param length of the message of the protocol @param name 'error' by default */
  constructor(message: string, length?: number, name?: string);
  name: string;
  length: number | undefined;
  position?: string;
  internalPosition?: string;
  line?: string;
}

/** Parsers which come before those of other types. */
export class TypeOverrides implements CustomTypesConfig {
  /** @param types asked for what is not set here; default: `types` */
  constructor(types?: CustomTypesConfig);
  /** @param oid of the type @param parse a text @param format 'text' by default */
  setTypeParser(oid: number, parse: TypeParser): void;
  setTypeParser(oid: number, format: TypeFormat, parse: TypeParser): void;
  /** @param oid of the type @param format 'text' by default @returns how its values are read */
  getTypeParser(oid: number, format?: TypeFormat): TypeParser;
  /** Another one when parsers have been set. */
  readonly version: number;
  /** The option `decode` of a query. */
  readonly decode: Map<number, any>;
}

/** How the values of all clients are read. */
export const types: TypeOverrides & {
  /** OIDs of PostgreSQL's basic types by their names in capitals. */
  readonly builtins: Readonly<Record<string, number>>;
  /** Reads the literal of an array. */
  readonly arrayParser: { create(text: string, parse?: TypeParser): { parse(): any[] } };
};

/** What counts where neither a config nor the environment says something. */
export const defaults: ClientConfig & PoolConfig & {
  /** Whether a Date is sent in UTC. */
  parseInputDatesAsUTC?: boolean;
  /** Whether an int8 is read as a number. */
  parseInt8?: boolean;
  [name: string]: any;
};

/** @param name of a table, column, … @returns it in double quotes */
export function escapeIdentifier(name: string): string;
/** @param text any @returns it in single quotes */
export function escapeLiteral(text: string): string;

/** What is sent for values, and quoting. */
export const utils: {
  prepareValue(value: any): string | Buffer | null;
  escapeIdentifier(name: string): string;
  escapeLiteral(text: string): string;
  defaults: typeof defaults;
};
