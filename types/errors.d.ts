/** Fields of an ErrorResponse or NoticeResponse, as the server sends them. */
export interface ServerFields {
  severity?: string;
  code?: string;
  message?: string;
  detail?: string;
  hint?: string;
  position?: string;
  internalPosition?: string;
  internalQuery?: string;
  where?: string;
  schema?: string;
  table?: string;
  column?: string;
  dataType?: string;
  constraint?: string;
  file?: string;
  line?: string;
  routine?: string;
}

/** An error that the server reported. */
export class PostgresError extends Error {
  constructor(fields: ServerFields);
  readonly name: 'PostgresError';
  /** ERROR, FATAL or PANIC, never translated. */
  severity: string;
  /** SQLSTATE */
  code: string;
  detail?: string;
  hint?: string;
  /** In characters of the query text, from 1. */
  position?: number;
  internalPosition?: number;
  internalQuery?: string;
  where?: string;
  schema?: string;
  table?: string;
  column?: string;
  dataType?: string;
  constraint?: string;
  file?: string;
  line?: number;
  routine?: string;
  /** In a batch: which query. */
  index?: number;
}

/** The connection could not be made, was refused by us, broke, or is over. */
export class ConnectionError extends Error {
  constructor(message: string, more?: { code?: string; cause?: unknown; sent?: boolean });
  readonly name: 'ConnectionError';
  /** The system's (ECONNREFUSED, …), or an SQLSTATE of class 08 or 28. */
  code: string;
  cause?: unknown;
  /** Of a request that was lost: whether the server had got it, and may have carried it out. */
  sent?: boolean;
}

/** The signal of a request aborted; `cause` is its reason. */
export class AbortError extends Error {
  constructor(message: string, cause?: unknown);
  readonly name: 'AbortError';
  code: 'ABORT_ERR';
  cause?: unknown;
}

/** Something that cannot be done as it was asked for. */
export class UsageError extends Error {
  constructor(message: string, code: string);
  readonly name: 'UsageError';
  /** The SQLSTATE that fits. */
  code: string;
}
