import quickgres from './index.js';

export const {
  Client, RowReader, RowParser, ResponseCache, CopyWriter,
  PostgresError, ConnectionError, AbortError, UsageError
} = quickgres;
export default quickgres;
