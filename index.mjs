import quickgres from './index.js';

export const { Client, RowReader, RowParser, PostgresError, ConnectionError, AbortError, UsageError } = quickgres;
export default quickgres;
