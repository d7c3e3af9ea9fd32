import quickgres from './index.js';

export const {
  Client, Session, RowReader, RowParser, PostgresError, ConnectionError, AbortError, TimeoutError, UsageError, array,
  decoders, jsonDecoders, dates
} = quickgres;
export default quickgres;
