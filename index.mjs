import quickgres from './index.js';

export const {
  Client, RowReader, RowParser, ResponseCache, CopyWriter, PgOutput, formatLsn, parseLsn,
  PostgresError, ConnectionError, AbortError, UsageError
} = quickgres;
export default quickgres;
