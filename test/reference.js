'use strict';

// Makes REFERENCE.md of the declarations, which have the types, and of the comments in the sources, which tell more.

const fs = require('node:fs');
const path = require('node:path');

const root = path.join(__dirname, '..');
const read = name => fs.readFileSync(path.join(root, name), 'utf8');

/** Sections, and what is in them; what is not named here is in the last one of its package. */
const SECTIONS = {
  Client: ['Client', 'Session', 'ClientEvents', 'Abortable', 'StatementOptions', 'QueryOptions', 'QueryToOptions', 'RespondOptions',
    'StreamResult', 'BatchOptions', 'BatchQuery', 'QueryValues', 'Value', 'Values', 'StreamedValue', 'Format'],
  Configuration: ['Config', 'PasswordRequest', 'ServerAddress', 'ByteStream', 'WebSocketLike', 'WebSocketProxy'],
  Transactions: ['TransactionOptions'],
  'Rows and their readers': ['RowReader', 'Row', 'RowMembers', 'AnyRow', 'AnyColumns', 'ColumnValue', 'Column', 'RowParser', 'Decode',
    'Decoder', 'DecoderPair', 'CopyReader', 'PacketReceiver', 'Receiver'],
  Cursors: ['Cursor', 'CursorOptions'],
  COPY: ['CopyTo', 'CopyFrom', 'CopyStreamOptions', 'CopyWriter'],
  Replication: ['CopyBoth', 'CopyBothOptions', 'WalMessage', 'PgOutput', 'PgOutputMessage', 'PgOutputRelation', 'PgOutputRow',
    'formatLsn', 'parseLsn'],
  Notifications: ['Listener', 'Notification'],
  'Answers from memory': ['ResponseCache', 'ResponseCacheOptions', 'CachedOptions', 'ResponseCacheCounters', 'ResponseCacheEvents',
    'ResponseCacheSubject'],
  Errors: ['PostgresError', 'ConnectionError', 'AbortError', 'UsageError', 'ServerFields'],
  'Diagnostics channel': ['TracedQuery']
};

const FIELD = 'As the server sends it: https://www.postgresql.org/docs/current/protocol-error-fields.html';
const EMITTER = 'As of an EventEmitter, with the arguments of each event. ' +
  '@param event its name @param listener what it calls @returns itself';
const COUNT = 'How many columns there are.';

/** Members that need no comment where they are declared, as they are the same everywhere. */
const COMMON = {
  toJSON: 'What JSON.stringify sees. @returns its members as a plain object', name: 'The name of the class.', cause: 'The error or reason behind it.',
  '[Symbol.iterator]': 'The values in column order.', '[Symbol.asyncIterator]': 'Itself: it is what `for await` asks for.',
  '[index': 'Columns by index from 0.', constructor: 'Takes no arguments.', channel: 'The name of the channel.',
  next: 'What comes next; `for await` calls it. @returns as an iterator’s',
  return: 'Ends it; `break` calls it. @param value to be given back @returns as an iterator’s, when it is over',
  columns: 'The descriptions of the columns.', columnNames: 'The names of the columns, in their order.',
  rowColumns: 'The descriptions of the columns.', rowParser: 'The RowDescription that the rows are read by.',
  columnCount: COUNT, columnFormats: 'Of COPY: the format of each column, 0 text, 1 binary.', format: 'Of COPY: 0 text, 1 binary.',
  dataFormat: '0 text, 1 binary.', binary: '1 where columns are binary.', stream: 'What takes the messages, a RowReader.',
  status: 'The status of the response.', code: 'SQLSTATE, or 08P01 or 08006 of what the client found.',
  max_bytes: 'As given, or 64 MiB.', max_answer_bytes: 'As given, or an eighth of max_bytes.',
  max_age: 'Seconds, as given, or 60.', stale_while_revalidate: 'Seconds, as given, or 15.',
  readyState: 'As of a WebSocket.', url: 'As of a WebSocket.', bufferedAmount: 'As of a WebSocket.', binaryType: 'As of a WebSocket.',
  send: 'As of a WebSocket. @param data',
  addEventListener: 'As of a WebSocket. @param type @param listener',
  close: 'As of a WebSocket. @param code',
  ...Object.fromEntries(['on', 'once', 'off', 'addListener', 'prependListener', 'prependOnceListener', 'removeListener']
    .map(name => [name, EMITTER])),
  ...Object.fromEntries(['severity', 'detail', 'hint', 'position', 'internalPosition', 'internalQuery', 'where', 'schema', 'table',
    'column', 'dataType', 'constraint', 'file', 'line', 'routine'].map(name => [name, FIELD]))
};

/** The text of a comment, its tags as a list. */
function prose(comment) {
  const lines = comment.replace(/^\s*\/\*\*|\*\/\s*$/g, '').split('\n').map(line => line.replace(/^\s*\* ?/, '').trim());
  const [text, ...tags] = `\n${lines.join('\n').trim()}`.split(/\s(?=@(?:param|returns|throws|type|see)\b)/);
  const items = tags.map(tag => {
    const one = tag.replace(/\s+/g, ' ').trim();
    const [, kind, type = '', name = '', rest] = /^@(\w+) ?(\{(?:[^{}]|\{[^{}]*\})*\})? ?(\[(?:[^\][]|\[\])*\]|[\w.]+(?= |$))?(.*)$/.exec(
      one.startsWith('@param') ? one : one.replace(/^(@\w+ ?(?:\{(?:[^{}]|\{[^{}]*\})*\})?) ?/, '$1 [] '));
    const code = part => part && part !== '[]' ? ` \`${part.replace(/^\{|\}$/g, '')}\`` : '';
    return `- ${kind === 'param' ? '' : `*${kind}*`}${code(name)}${code(type)}${rest.trim() && ` ${rest.trim()}`}`.replace('-  ', '- ');
  });
  return [text.replace(/\n/g, ' ').trim(), items.join('\n')].filter(Boolean).join('\n\n');
}

/** What the README says of the connection's parameters and their defaults. */
const [CONFIGURATION] = /^\| Option \|[^]*?(?=\n\nDifferent from libpq)/m.exec(read('README.md'));

const COMMENT = /\/\*\*(?:[^*]|\*(?!\/))*\*\//.source;

/** The declarations of a file: by name `{ kind, comment, text, members: [{ name, comment, text }] }`. */
function declarations(file) {
  const found = new Map();
  const pattern = new RegExp(`(${COMMENT}\\n)?^export (?:declare )?(class|interface|type|function|const) (\\w+)`, 'gm');
  const text = read(file);
  for (const match of text.matchAll(pattern)) {
    const [all, comment = '', kind, name] = match;
    const begin = match.index + all.length - /export .*$/.exec(all)[0].length;
    const rest = text.slice(begin);
    const ending = /\{\}$/.test(rest.split('\n')[0]) ? /$/m : /^(class|interface)$/.test(kind) ? /^\}/m : /;$/m;
    const body = rest.slice(0, rest.search(ending) + 1).trimEnd();
    if (found.has(name) && body.length < 60) continue; // export interface Client extends Session {}
    found.set(name, { kind, comment, text: body, members: membersOf(body) });
  }
  return found;
}

function membersOf(body) {
  const members = new Map();
  let comment = '';
  const pattern = new RegExp(`^  (?:(${COMMENT})|((?:static |readonly |get )*(\\[?[\\w.]+\\]?)[^]*?;)(?: *//.*)?)$`, 'gm');
  for (const [, remark, text, name] of body.matchAll(pattern)) {
    if (remark !== undefined) { comment = remark; continue; }
    const member = members.get(name) ?? { name, comment: '', texts: [] };
    member.comment ||= comment;
    member.texts.push(text.replace(/^ {2}/gm, ''));
    members.set(name, member);
    comment = '';
  }
  return members;
}

/** The comments of the sources in a folder: of `Class`, `Class.member` and functions. */
function comments(folder) {
  const found = new Map();
  for (const file of fs.readdirSync(path.join(root, folder)).filter(name => name.endsWith('.js')).sort()) {
    let owner = '';
    const pattern = new RegExp(`(?:(${COMMENT})\\n)?^(?:export )?(?:class (\\w+)|(?:async )?function (\\w+)| {2}(?:async |static |get |\\*)*(\\w+)\\(| {2}get (\\w+)| {4}this\\.(\\w+) = )`, 'gm');
    for (const [, comment, type, call, ...names] of read(`${folder}/${file}`).matchAll(pattern)) {
      if (type !== undefined) owner = type;
      const member = names.find(Boolean);
      const key = type ?? call ?? `${owner}.${member}`;
      if (comment !== undefined && !found.has(key)) found.set(key, comment);
    }
  }
  return found;
}

function entry(name, { kind, comment, text, members }, told, level) {
  const lines = [`${level} ${name}`, ''];
  const say = remark => { if (remark) lines.push(prose(remark), ''); };
  const code = source => lines.push('```ts', source, '```', '');
  say(kind === 'class' || kind === 'function' ? told.get(name) ?? comment : comment);
  const isObject = kind === 'class' || [...members.values()].some(({ texts: [first] }) => /^[\w.]+(<[^(]*>)?\(/.test(first));
  if (!isObject) {
    code(text);
    if (name === 'Config') lines.push(CONFIGURATION, '');
    return lines;
  }
  for (const member of members.values()) {
    lines.push(`${level}# ${name}.${member.name}`, '');
    code(member.texts.join('\n'));
    const owners = name === 'Session' ? ['Session', 'StreamingSession'] : [name];
    say(owners.map(owner => told.get(`${owner}.${member.name}`)).find(Boolean) || member.comment || COMMON[member.name]);
  }
  return lines;
}

/** @returns {string} what REFERENCE.md has to be */
function reference() {
  const files = ['index.d.ts', ...fs.readdirSync(path.join(root, 'types')).sort().map(name => `types/${name}`)];
  const known = new Map(files.flatMap(file => [...declarations(file)]));
  const told = comments('lib');
  const lines = ['# Reference', '', 'Made by `npm run reference` of the declarations and of the comments in the sources. ' +
    'The [README](README.md) tells how things are used. A session is a client, or what the function of `transaction` is given.', ''];
  const named = new Set(Object.values(SECTIONS).flat());
  const sections = { ...SECTIONS, Other: [...known.keys()].filter(name => !named.has(name)) };
  for (const [section, names] of Object.entries(sections)) {
    if (names.length > 0) lines.push(`## ${section}`, '', ...names.flatMap(name => entry(name, known.get(name), told, '###')));
  }
  lines.push('## client-parser', '');
  const browser = comments('client-parser');
  for (const [name, one] of declarations('client-parser/index.d.ts')) lines.push(...entry(name, one, browser, '###'));
  return `${lines.join('\n').trimEnd()}\n`;
}

module.exports = { reference };

if (require.main === module) fs.writeFileSync(path.join(root, 'REFERENCE.md'), reference());
