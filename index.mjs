import quickgres from './index.js';

export const {
  Client, RowReader, RowParser, PostgresError, ConnectionError, AbortError, UsageError, array, decoders, jsonDecoders, dates
} = quickgres;
export default quickgres;
