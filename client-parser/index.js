// PostgreSQL's protocol in the browser: the bytes of a result, as a server passed them on, become rows.

import { dates, decoders } from './types.js';
import { defaults, TypeParser } from './type-parser.js';

export { Client } from './client.js';
export { ProtocolError } from './errors.js';
export { PostgresError } from './messages.js';
export { RowParser } from './row-parser.js';
export { RowReader } from './row-reader.js';
export { ResponseError, rows } from './rows.js';
export { arrayOf, dates, decoders, text } from './types.js';
export { TypeParser };

defaults.decoders = decoders;
for (const typeOid in decoders) TypeParser[typeOid] = decoders[typeOid][1];
// As Quickgres has it.
for (const typeOid of [1114, 1115, 1184, 1185]) TypeParser[typeOid] = dates[typeOid][1];
TypeParser[18] = (bytes, start) => bytes[start];
