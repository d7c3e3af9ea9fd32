// client-parser as a page uses it: with the DOM's types and without Node's.

import {
  Client,
  PostgresError,
  ProtocolError,
  ResponseError,
  RowParser,
  RowReader,
  TypeParser,
  arrayOf,
  decoders,
  exact,
  rows,
  text
} from 'quickgres/client-parser';
import type {
  AnyRow,
  Column,
  Decode,
  Decoded,
  Decoder,
  DecoderMap,
  DecoderPair,
  Json,
  Raw,
  ReaderOptions,
  Row,
  RowMembers,
  Rows,
  RowsOptions,
  Source
} from 'quickgres/client-parser';

interface User {
  id: string;
  name: string;
  created: Date | number;
}

export async function load(list: HTMLElement, signal: AbortSignal): Promise<number> {
  const numeric: DecoderPair<number> = [(...at) => Number(text(...at)), (bytes, start) => bytes[start]!];
  const decode: DecoderMap = {
    ...decoders,
    ...exact,
    1700: numeric,
    1231: arrayOf(numeric),
    25: (value: string) => value
  };
  const options: RowsOptions = { decode, signal };
  const all: Rows<Row<User>> = rows<User>(fetch('/users', { signal }), { structs: true, signal });
  const plain: Rows<User> = rows<User>(fetch('/users', { signal }), options);
  for await (const { id, name } of plain) list.append(id, name);
  try {
    for await (const row of all) {
      const members: RowMembers<User> = row;
      const item = document.createElement('li');
      item.textContent = `${row.name} ${members.get('created')} ${row[0]}`;
      list.append(item);
    }
  } catch (error) {
    if (error instanceof PostgresError) list.append(error.code ?? '', error.hint ?? '');
    else if (error instanceof ProtocolError) list.append(error.code);
    else if (error instanceof ResponseError) list.append(await error.response.text(), String(error.status));
    else throw error;
  }
  const perhaps = { decode: undefined, structs: undefined, signal: undefined };
  for await (const row of rows<User>('/users', perhaps)) list.append(row.name);
  for await (const batch of rows(await fetch('/users')).batches())
    list.append(String(batch.length), batch[0]?.anything);
  const columns: readonly Column[] = all.columns ?? [];
  return columns.length + all.rowCount + all.bytes + (all.cmd ?? '').length;
}

export const sources = (body: ReadableStream<Uint8Array>, file: File, socket: WebSocket): Source[] => {
  const parser = new Client<User>(1, { decode: true });
  socket.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => parser.onData(data);
  socket.onclose = () => parser.end();
  const reader: RowReader<User> = parser.stream;
  reader.structs.map((row: Row<User>) => row.get('created'));
  reader.rows.map((row: User) => ({ ...row }));
  return [body, file, new ArrayBuffer(0), new Uint8Array(1), [new ArrayBuffer(0)]];
};

const options: ReaderOptions = { decode: false };
export const reader = new RowReader(options);
export const decode: Decode = new Map([[23, (value: string) => Number(value)]]);
const decoder: Decoder<string> = (bytes, start, end) => text(bytes, start, end);
TypeParser[600] = decoder;
export const raw: Raw = TypeParser.serialize(true);
export const json: Json = { a: [1, null, 'x'] };
export const decoded: Decoded = 1n;
export const row: AnyRow = new new RowParser(new Uint8Array())[0](new Uint8Array());
