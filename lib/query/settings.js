'use strict';

const { withoutComments } = require('./statements');

/** An effect of which nothing more is known than that there may be one. */
const ANYTHING = '*';
/** The effect of a statement that begins a transaction block. */
const BLOCK = '';

const HIDDEN = /set_config|\bpg_temp|\bu&"|\binto\s+(?:local\s+|global\s+)?temp|\bupdate\s+(?:only\s+)?[\w".\s]*\bpg_settings\b/i;
const BEGINNING = /^[\s;]*(?:set|reset|discard|begin|start|do|call|create|execute|explain|--|\/\*)/i;
const TEMPORARY = /\btemp(?:orary)?\b|\bpg_temp|\bexecute\b(?!\s+(?:function|procedure)\b)/i;
const FLEETING = /^set\s+(?:local|transaction|constraints)\b/i;
const ANYWHERE = /\b(?:set|reset|discard|begin|start|do|call|execute|temp|temporary|pg_temp\w*)\b|set_config/i;

/** Whether a pattern is in a text, as it stands or without its comments; what looks like one may be in a string. */
function contains(text, pattern) {
  return pattern.test(text) || (/--|\/\*/.test(text) && pattern.test(text.replace(/--.*|\/\*[^]*?\*\//g, ' ')));
}

/**
 * What a statement may leave behind that changes the answers to later ones on the same connection: settings,
 * temporary tables that hide others, a transaction block. What a function does that it calls, nobody can see.
 * @param {string} text of one statement
 * @returns {string|undefined} the name of a setting in lower case, BLOCK, or ANYTHING; undefined for nothing
 */
function effectOf(text) {
  if (contains(text, HIDDEN)) return ANYTHING;
  if (!BEGINNING.test(text)) return undefined;
  const statement = withoutComments(text);
  if (/^(?:begin|start)\b/i.test(statement)) return BLOCK;
  if (/^(?:discard|do|call|execute)\b/i.test(statement)) return ANYTHING;
  // CREATE TABLE … AS EXECUTE, EXPLAIN ANALYZE EXECUTE
  if (/^(?:create|explain)\b/i.test(statement)) return TEMPORARY.test(statement) ? ANYTHING : undefined;
  if (!/^(?:re)?set\b/i.test(statement) || FLEETING.test(statement)) return undefined;
  const name = /^(?:re)?set\s+(?:session\s+(?!auth|char))?(time\s+zone|[\w.]+|"[^"]+")/i.exec(statement);
  if (name === null) return ANYTHING;
  return /^time\s/i.test(name[1]) ? 'timezone' : name[1].replace(/"/g, '').toLowerCase();
}

/**
 * The same of several statements in one text. A semicolon in a string only finds more than there is.
 * @param {string} text
 * @returns {Array<string>}
 */
function effectsOf(text) {
  if (/--|\/\*/.test(text)) return ANYWHERE.test(text) ? [ANYTHING] : [];
  return text.split(';').map(effectOf).filter(effect => effect !== undefined);
}

module.exports = { contains, effectOf, effectsOf, ANYTHING, BLOCK };
