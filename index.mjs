import quickgres from './index.js';

export const { Client, RowReader, RowParser, ResponseCache, PostgresError, ConnectionError, AbortError, UsageError } = quickgres;
export default quickgres;
