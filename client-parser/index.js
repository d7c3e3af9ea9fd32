// PostgreSQL's protocol in the browser: the bytes of a result become rows.

import { toDate } from './datetime.js';
import { arrayOf, decoders, exact } from './types.js';
import { defaults, TypeParser } from './type-parser.js';

export { Client } from './client.js';
export { ProtocolError } from './errors.js';
export { PostgresError } from './messages.js';
export { RowParser } from './row-parser.js';
export { RowReader } from './row-reader.js';
export { ResponseError, rows } from './rows.js';
export { arrayOf, decoders, exact, text } from './types.js';
export { TypeParser };

defaults.decoders = decoders;
for (const typeOid in decoders) [, TypeParser[typeOid]] = exact[typeOid] ?? decoders[typeOid];
// As in kig/quickgres 0.4.
for (const typeOid of [1114, 1184]) [, TypeParser[typeOid + 1]] = arrayOf([, (TypeParser[typeOid] = toDate)]);
TypeParser[18] = (bytes, start) => bytes[start];
