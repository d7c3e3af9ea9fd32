import { Duplex } from 'node:stream';
import { ConnectionOptions } from 'node:tls';

/** As in a connection string; in an object undefined, null and '' count as not given. */
type Setting = string | number | bigint | boolean | null | undefined;
type Choice<T> = T | '' | null | undefined;

/** What a password is asked for. */
export interface PasswordRequest {
  host: string;
  port: number;
  user: string;
  database: string;
}

/** Where a connection is to go. */
export interface ServerAddress {
  host: string;
  port: number;
}

/** The byte stream to use instead of a socket of our own. */
export type ByteStream = Duplex | ((server: ServerAddress) => Duplex | Promise<Duplex>);

/** What is used of a WebSocket: that of the platform, or of the package ws. */
export interface WebSocketLike {
  readonly readyState: number;
  readonly url?: string | null;
  readonly bufferedAmount?: number;
  binaryType?: string;
  send(data: any): void;
  close(code?: number): void;
  addEventListener(type: any, listener: (event: any) => void): void;
}

/**
 * Goes through a proxy: its URL, to which `address=host:port` is added, or a function that gives one, or gives a
 * WebSocket. sslmode=require demands wss:.
 */
export type WebSocketProxy = string | URL | ((server: ServerAddress) =>
  string | URL | WebSocketLike | Promise<string | URL | WebSocketLike>);

/**
 * libpq's connection parameters and ours; what is not known here goes to the server as a startup parameter.
 * https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-PARAMKEYWORDS
 */
export interface Config {
  /** Name, address, or directory of a socket; several with commas. */
  host?: Choice<string>;
  hostaddr?: Choice<string>;
  port?: Choice<number | string>;
  user?: Choice<string>;
  database?: Choice<string>;
  dbname?: Choice<string>;
  /** A function is called at each connection. */
  password?: Choice<string | ((to: PasswordRequest) => string | Promise<string>)>;
  passfile?: Choice<string>;
  service?: Choice<string>;
  servicefile?: Choice<string>;
  application_name?: Choice<string>;
  fallback_application_name?: Choice<string>;
  /** Options for the server process, such as -c geqo=off. */
  options?: Choice<string>;
  replication?: Choice<'database' | 'true' | 'false' | boolean>;
  client_encoding?: Choice<string>;
  /** Seconds for each address, 0 for no limit. */
  connect_timeout?: Choice<number | string>;
  keepalives?: Choice<boolean | number | string>;
  /** Seconds, 0 for the system's. */
  keepalives_idle?: Choice<number | string>;
  keepalives_interval?: Choice<number | string>;
  keepalives_count?: Choice<number | string>;
  tcp_user_timeout?: Choice<number | string>;
  sslmode?: Choice<'disable' | 'allow' | 'prefer' | 'require' | 'verify-ca' | 'verify-full'>;
  sslnegotiation?: Choice<'postgres' | 'direct'>;
  sslrootcert?: Choice<string>;
  sslcert?: Choice<string>;
  sslkey?: Choice<string>;
  sslpassword?: Choice<string>;
  sslcertmode?: Choice<'allow' | 'disable'>;
  sslsni?: Choice<boolean | number | string>;
  ssl_min_protocol_version?: Choice<'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3'>;
  ssl_max_protocol_version?: Choice<'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3'>;
  /** Options of tls.connect, or true: encryption is required then; false: none. */
  ssl?: ConnectionOptions | boolean | null | undefined;
  /** Methods that are allowed, or with ! those that are not. */
  require_auth?: Choice<string>;
  channel_binding?: Choice<'disable' | 'prefer' | 'require'>;
  target_session_attrs?: Choice<
    'any' | 'read-write' | 'read-only' | 'primary' | 'standby' | 'prefer-standby'>;
  load_balance_hosts?: Choice<'disable' | 'random'>;
  min_protocol_version?: Choice<'3.0' | '3.2' | 'latest'>;
  max_protocol_version?: Choice<'3.0' | '3.2' | 'latest'>;
  gssencmode?: Choice<'disable' | 'prefer'>;
  socket?: ByteStream | null | undefined;
  websocket?: WebSocketProxy | null | undefined;
  /** Most prepared statements kept, 256 by default; 0 for none, behind transaction poolers. */
  statement_cache?: Choice<number | string>;
  /** A startup parameter, such as search_path. */
  [parameter: string]: Setting | ConnectionOptions | ByteStream | WebSocketProxy
    | ((to: PasswordRequest) => string | Promise<string>);
}
