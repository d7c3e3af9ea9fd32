import quickgres from './index.js';

export const {
  Client,
  Session,
  RowReader,
  RowParser,
  PostgresError,
  ConnectionError,
  AbortError,
  TimeoutError,
  UsageError,
  array,
  decoders,
  exact,
  oid
} = quickgres;
export default quickgres;
