'use strict';

// Finds the SQL in sources of JavaScript and TypeScript, by a tokenizer: TypeScript 7 exports no parser. All of it is
// linear in the source.

/** Which arguments can be SQL, by method. */
const METHODS = new Map(
  Object.entries({
    query: [0],
    commit: [0],
    cursor: [0],
    startQuery: [0],
    keyOf: [0],
    copyTo: [0],
    copyFrom: [0],
    batch: [0],
    queryTo: [1],
    respond: [1, 2, 3]
  })
);

const TOKEN = /\s+|\/\/.*|[\w$\u0080-\uffff]+|[^]/y;
const SKIPPED = /^(?:\s|\/[/*])/;
const WORD = /^[\w$\u0080-\uffff]/;
/** Behind these a slash begins a regular expression. */
const BEFORE_REGEX = /^(?:[(,=:[!&|?{};+*%~^>-]|return|typeof|case|in|of|do|else|void|yield|await|delete|new|throw)$/;
/** In front of parentheses behind which a statement begins, and no operator can be. */
const HEADS = new Set(['if', 'while', 'for', 'with']);
/** A call in what was taken for a string: in JSX, apostrophes of the text around it may hide it. */
const HIDDEN = /\.(query|commit|cursor|startQuery|copyTo|copyFrom|batch|queryTo|respond)\s*\(/;
/** Behind these a literal is a part of something longer. */
const CONTINUES = /^[+.[(?]$/;
const OPENERS = { ')': '(', ']': '[', '}': '{' };

/** Characters of the longest text that is put together of constants. */
const LONGEST = 1_000_000;

const ESCAPES = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', v: '\v', 0: '\0', '\n': '' };
const ESCAPE = /\\(?:u\{0*((?:10|[\da-f])?[\da-f]{1,4})\}|u([\da-f]{4})|x([\da-f]{2})|([^]))/gi;

/** @returns {string} what a literal means */
const cooked = raw =>
  raw
    .replace(/\r\n/g, '\n')
    .replace(ESCAPE, (_, long, four, two, one) =>
      one === undefined ? String.fromCodePoint(parseInt(long ?? four ?? two, 16)) : (ESCAPES[one] ?? one)
    );

/** Where a literal ends: at its quote, at `${`, or without an end at the end of its line. */
function endOf(source, from, quote) {
  let isClass = false; // [/] in a regular expression
  for (let at = from; at < source.length; at++) {
    const char = source[at];
    if (char === '\\') at++;
    else if (char === '\n' && quote !== '`') return at;
    else if (quote === '/' && (char === '[' || char === ']')) isClass = char === '[';
    else if (char === quote && !isClass) return at;
    else if (quote === '`' && char === '$' && source[at + 1] === '{') return at;
  }
  return source.length;
}

/**
 * Whether a slash begins a regular expression, and does not divide: it divides `x++` and `x!`. In front of `>` it ends
 * an element of JSX.
 */
function isRegexBehind(tokens, next) {
  const [before, last] = [tokens.at(-2), tokens.at(-1)];
  if (last === undefined || last.isHead) return true;
  if (!BEFORE_REGEX.test(last.value) || (last.value === '}' && next === '>')) return false;
  const isBehindValue = value => before?.line === last.line && !before.isHead && value(before.value);
  if (last.value === '!') return !isBehindValue(value => !BEFORE_REGEX.test(value));
  if (last.value !== '+' && last.value !== '-') return true;
  return !isBehindValue(value => value === last.value && before.column === last.column - 1);
}

/** Whether a parenthesis is that of `if (…)`, `for await (…)` and the like, but not of a method with such a name. */
function isHead(tokens, index) {
  const at = tokens[index - 1]?.value === 'await' ? index - 2 : index - 1;
  return HEADS.has(tokens[at]?.value) && tokens[at - 1]?.value !== '.';
}

/**
 * @typedef {object} Token
 * @property {string} value a word, a mark, or the quote of a literal
 * @property {number} line
 * @property {number} column
 * @property {boolean} isIgnored by a comment
 * @property {boolean} [isHead] of a parenthesis: a statement is behind it
 * @property {number} [next] index of the token behind a literal, or behind the end of a bracket
 * @property {string[]} [parts] of a literal: as they are in the source
 * @property {Array<Token|undefined>} [holes] of a template: the tokens in `${…}`, if they are one each
 *
 * @param {string} source
 * @returns {Token[]}
 */
function tokensOf(source) {
  const tokens = [];
  const open = []; // brackets, and templates of which an expression is open
  const unclosed = {}; // by quote: where the last one without an end was given up, so that none is looked for twice
  let at = 0,
    line = 1,
    lineStart = 0,
    newline = source.indexOf('\n'),
    ignored = 0;

  const template = token => {
    // a part of it: to its end, or to an expression
    const end = endOf(source, at + 1, '`');
    token.parts.push(source.slice(at + 1, end));
    token.next = tokens.length;
    const isOver = source[end] !== '$';
    at = end + (isOver ? 1 : 2);
    if (!isOver) open.push(token);
  };
  const literal = token => {
    const { value } = token;
    const isRegex = value === '/' && isRegexBehind(tokens, source[at + 1]);
    if ((!isRegex && value !== "'" && value !== '"') || at < unclosed[value]) return false;
    const end = endOf(source, at + 1, value);
    if (source[end] !== value) {
      unclosed[value] = end;
      return false;
    }
    if (!isRegex) Object.assign(token, { parts: [source.slice(at + 1, end)], holes: [] });
    token.next = tokens.push(token);
    at = end + 1;
    return true;
  };
  const close = opener => {
    // what is open in braces ends with them
    const isBrace = opener === '{';
    while (isBrace && open.length > 0 && open.at(-1).value !== '{' && open.at(-1).value !== '`') open.pop();
    return open.at(-1)?.value === opener || (isBrace && open.length > 0) ? open.pop() : undefined;
  };
  const mark = token => {
    const { value } = token;
    const inside = close(OPENERS[value]);
    if (inside?.value === '`') {
      inside.holes.push(tokens.length === inside.next + 1 ? tokens.at(-1) : undefined);
      return template(inside);
    }
    at += value.length;
    const next = tokens.push(token);
    if (inside) inside.next = next;
    if (value === ')') token.isHead = inside?.isHead;
    if (value === '(') token.isHead = isHead(tokens, next - 1);
    if (value === '(' || value === '[' || value === '{') open.push(token);
  };

  while (at < source.length) {
    while (newline !== -1 && newline < at) {
      line++;
      lineStart = newline + 1;
      newline = source.indexOf('\n', lineStart);
    }
    TOKEN.lastIndex = at;
    let [value] = TOKEN.exec(source);
    if (value === '/' && source[at + 1] === '*') {
      const end = source.indexOf('*/', at + 2);
      value = source.slice(at, end === -1 ? undefined : end + 2);
    }
    const token = { value, line, column: at - lineStart + 1, isIgnored: line <= ignored };
    if (SKIPPED.test(value)) {
      at += value.length;
      if (value.includes('quickgres-ignore')) ignored = line + value.split('\n').length; // and the line below
    } else if (value === '`') {
      tokens.push(Object.assign(token, { parts: [], holes: [] }));
      template(token);
    } else if (!literal(token)) {
      mark(token);
    }
  }
  return tokens;
}

/** The entries of a bracket, each with the index of its first token, and of the one behind it. */
function* entriesOf(tokens, open) {
  const end = (tokens[open].next ?? open + 2) - 1; // nothing, if it does not end
  for (let from = open + 1, at = from; at <= end;) {
    if (at < end && tokens[at].value !== ',') {
      at = tokens[at].next ?? at + 1;
    } else {
      if (at > from) yield [from, at];
      from = ++at;
    }
  }
}

/** Where the arguments of a call begin, behind `?.` and `<Type>`; undefined if it is none. */
function openOf(tokens, name) {
  let at = name + 1;
  if (tokens[at]?.value === '?' && tokens[at + 1]?.value === '.') at += 2;
  if (tokens[at]?.value === '<') {
    const last = Math.min(at + 200, tokens.length);
    for (let depth = 0; at < last; at++) {
      if (tokens[at].value === '<') depth++;
      else if (tokens[at].value === '>' && tokens[at - 1].value !== '=' && --depth === 0) break;
    }
    at++;
  }
  return tokens[at]?.value === '(' ? at : undefined;
}

/** Finds the texts in the sources of a program. */
class Finder {
  texts = new Map(); // by token
  others = []; // calls whose text is not known
  #everywhere = new Map(); // sets of constants, by name

  /** @param {Map<string, string>} sources by file */
  constructor(sources) {
    const files = Array.from(sources, ([file, source]) => ({ file, tokens: tokensOf(source) }));
    // A constant may be made of others, which are in files behind its own.
    for (const isSearch of [false, false, true]) {
      for (const each of files) this.#walk({ ...each, above: new Map() }, isSearch);
    }
  }

  #walk(scope, isSearch) {
    scope.tokens.forEach(({ value, parts }, index) => {
      if (value === 'const') this.#constant(scope, index);
      else if (isSearch && parts && value !== '`') this.#hidden(scope, index);
      else if (isSearch && value === 'sql') this.#named(scope, index);
      else if (isSearch && METHODS.has(value)) this.#call(scope, index);
    });
  }

  #add(file, token, text, name) {
    if (!token.isIgnored) this.texts.set(token, { file, token, text, name });
  }

  /** const TEXT = '…' and const TEXT = `…${…}…` as const, which have literal types */
  #constant({ file, tokens, above }, index) {
    const [name, equals, token] = tokens.slice(index + 1, index + 4);
    if (equals?.value !== '=' || !token?.parts) return;
    const behind = tokens[token.next]?.value;
    if (CONTINUES.test(behind) || (token.holes.length > 0 && behind !== 'as')) return;
    const constant = { file, token, text: this.#textOf(above, token) };
    above.set(name.value, constant);
    if (!this.#everywhere.has(name.value)) this.#everywhere.set(name.value, new Map());
    this.#everywhere.get(name.value).set(token, constant);
  }

  /** The constant that a name means: the last one above it, else those of all files. */
  #constants(above, { value }) {
    const own = above.get(value);
    return (own ? [own] : [...(this.#everywhere.get(value)?.values() ?? [])]).filter(({ text }) => text !== undefined);
  }

  #textOf(above, { parts, holes }) {
    let text = cooked(parts[0]);
    for (const [index, hole] of holes.entries()) {
      const [constant, ...more] = hole ? this.#constants(above, hole) : [];
      if (constant === undefined || more.length > 0) return undefined;
      text += constant.text + cooked(parts[index + 1]);
      if (text.length > LONGEST) return undefined;
    }
    return text;
  }

  /** sql<'name'>`…` */
  #named({ file, tokens }, index) {
    const [left, name, right, token] = tokens.slice(index + 1, index + 5);
    if (left?.value !== '<' || name?.parts?.length !== 1 || right?.value !== '>' || token?.value !== '`') return;
    // As `sql` numbers values; a digit behind one would be a part of its number.
    const [head, ...parts] = token.parts;
    const text = head + parts.map((part, at) => `$${at + 1}${/^\d/.test(part) ? ' ' : ''}${part}`).join('');
    this.#add(file, token, cooked(text), cooked(name.parts[0]));
  }

  #hidden({ file, tokens }, index) {
    const token = tokens[index];
    const [, method] = HIDDEN.exec(token.parts[0]) ?? [];
    if (method && !token.isIgnored) this.others.push({ file, token, method, why: 'in quotes' });
  }

  #call(scope, index) {
    const { tokens } = scope;
    const { value: method, isIgnored } = tokens[index];
    const before = tokens[index - 1]?.value;
    const open = before === '.' || (method === 'respond' && before !== 'function') ? openOf(tokens, index) : undefined;
    if (open === undefined || isIgnored) return;
    const places = METHODS.get(method);
    const entries = [];
    for (const entry of entriesOf(tokens, open)) if (entries.push(entry) > places.at(-1)) break;
    const given = places.map(place => entries[place]).filter(Boolean);
    const entry = given.find(each => this.#found(scope, each).length > 0) ?? given.at(-1);
    if (entry === undefined) return;
    if (method !== 'batch' || tokens[entry[0]].value !== '[') return this.#take(scope, entry, method);
    for (const each of entriesOf(tokens, entry[0])) {
      const [first] = tokens[each[0]].value === '[' ? entriesOf(tokens, each[0]) : [each];
      if (first) this.#take(scope, first, method);
    }
  }

  /** The literals that an argument is. */
  #found({ file, tokens, above }, [from, to]) {
    const token = tokens[from];
    const end = token.next ?? from + 1;
    if (end !== to && tokens[end].value !== 'as') return [];
    if (!token.parts) return WORD.test(token.value) ? this.#constants(above, token) : [];
    const text = this.#textOf(above, token);
    return text === undefined ? [] : [{ file, token, text }];
  }

  #take(scope, entry, method) {
    const { file, tokens } = scope;
    const [token, behind] = [tokens[entry[0]], tokens[entry[0] + 1]];
    const found = this.#found(scope, entry);
    for (const each of found) this.#add(each.file, each.token, each.text);
    const isPiece = token.value === 'sql';
    // query(...piece) and sql<'name'>`…`
    if (found.length > 0 || token.isIgnored || token.value === '.' || (isPiece && behind.value === '<')) return;
    const why = isPiece ? 'sql`…`' : token.value === '`' ? 'a template with ${…}' : 'not a literal';
    this.others.push({ file, token, method, why });
  }
}

/**
 * @param {Map<string, string>} sources by file
 * @returns {{texts: Array<{text: string, name?: string, file: string, token: Token}>,
 *   others: Array<{file: string, token: Token, method: string, why: string}>}}
 */
function literalsOf(sources) {
  const { texts, others } = new Finder(sources);
  return { texts: [...texts.values()], others };
}

module.exports = { literalsOf };
