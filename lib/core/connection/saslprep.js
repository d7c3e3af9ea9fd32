'use strict';

/*
 * SASLprep (RFC 4013, a profile of RFC 3454) in the order of PostgreSQL's pg_saslprep(): the checks look at the mapped
 * text before it is normalized. Client and server must agree on every byte. Unlike the RFC's tables (Unicode 3.2),
 * later letters of the Basic Multilingual Plane count as assigned, and right-to-left text may be mixed with digits and
 * signs.
 */

/** C.1.2: spaces that are not ASCII become U+0020. */
const SPACES = /[\u00a0\u1680\u2000-\u200b\u202f\u205f\u3000]/g;

/** B.1, commonly mapped to nothing. */
// eslint-disable-next-line no-misleading-character-class -- each is a character of its own
const NOTHING = /[\u00ad\u034f\u1806\u180b-\u180d\u200b-\u200d\u2060\ufe00-\ufe0f\ufeff]/g;

/** C.2.1, C.2.2 and C.3 to C.9. */
const PROHIBITED = new RegExp(
  '[\\p{Cc}\\p{Co}\\p{Cs}\\p{NChar}\\u0340\\u0341\\u06dd\\u070f\\u180e\\u200e\\u200f' +
    '\\u2028-\\u202e\\u2061-\\u2063\\u206a-\\u206f\\u2ff0-\\u2ffb\\ufff9-\\ufffd\\u{1d173}-\\u{1d17a}\\u{e0001}' +
    '\\u{e0020}-\\u{e007f}]',
  'u'
);

/**
 * A.1: unassigned, including everything beyond the Basic Multilingual Plane that Unicode 3.2 did not have, such as
 * emoji.
 */
// eslint-disable-next-line regexp/no-dupe-characters-character-class -- Unicode assigns more of them each year
const UNASSIGNED = /[\p{Cn}\u{10450}-\u{1cfff}\u{1d800}-\u{1ffff}\u{2a6d7}-\u{2f7ff}\u{2fa1e}-\u{effff}]/u;

/** D.1 and D.2: characters of right-to-left and of left-to-right scripts. */
const RIGHT_TO_LEFT =
  '(?![\\p{M}\\p{N}\\u060c\\u066a-\\u066c\\u06de\\u06e9\\ufb29\\ufd3e\\ufd3f])' +
  '[\\u0590-\\u08ff\\ufb1d-\\ufdff\\ufe70-\\ufefe]';
const MIXED = new RegExp(`(?!${RIGHT_TO_LEFT})[\\p{L}\\p{Mc}\\p{Nl}]`, 'u');
const ANY_RIGHT_TO_LEFT = new RegExp(RIGHT_TO_LEFT, 'u');
const BETWEEN_RIGHT_TO_LEFT = new RegExp(`^(?=${RIGHT_TO_LEFT}).*${RIGHT_TO_LEFT}$`, 'su');

/**
 * Prepares a password for SCRAM.
 * @returns {string|null} null if RFC 4013 prohibits it: control characters, lone surrogates, unassigned code points,
 *   mixed directions, or nothing left after the mapping. The password must then be used unchanged, as PostgreSQL does
 */
function saslprep(text) {
  const mapped = text.replace(SPACES, ' ').replace(NOTHING, '');
  if (mapped === '' || PROHIBITED.test(mapped) || UNASSIGNED.test(mapped)) return null;
  const oneWay = !ANY_RIGHT_TO_LEFT.test(mapped) || (BETWEEN_RIGHT_TO_LEFT.test(mapped) && !MIXED.test(mapped));
  return oneWay ? mapped.normalize('NFKC') : null;
}

module.exports = { saslprep };
