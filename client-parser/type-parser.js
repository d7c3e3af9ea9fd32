import { octets, scratch } from './text.js';

const encoder = new TextEncoder();

function numberBytes(method, value, size) {
  scratch[method](0, value);
  return octets.slice(0, size);
}

/**
 * A value as PostgreSQL's binary format has it, by its JavaScript type.
 * @param {*} value boolean → bool; integer of 32 bits → int4; other number → float4; bigint → int8;
 *   string → text; Uint8Array → bytea, copied; other object → json
 * @returns {Uint8Array|null|undefined} null for null, undefined for what has no binary form
 */
function serialize(value) {
  if (value === null) return null;
  if (value instanceof Uint8Array) return Uint8Array.from(value);
  switch (typeof value) {
    case 'boolean': return Uint8Array.of(+value);
    case 'string': return encoder.encode(value);
    case 'object': return encoder.encode(JSON.stringify(value));
    case 'number': return numberBytes((value | 0) === value ? 'setInt32' : 'setFloat32', value, 4);
    case 'bigint': return numberBytes('setBigInt64', value, 8);
  }
}

/**
 * Decoders of binary values, `(bytes, start, end) => value`, by type OID: what rows of a `new Client(1)` use.
 * index.js fills it; your own may be added.
 */
export const TypeParser = { serialize };

/** What `decode: true` stands for: set by index.js, so that who imports single files need not load it. */
export const defaults = { decoders: undefined };
