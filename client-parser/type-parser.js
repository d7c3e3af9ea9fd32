const encoder = new TextEncoder();

/**
 * A value as PostgreSQL's binary format has it, by its JavaScript type.
 * @param {*} value boolean → bool; integer of 32 bits → int4; other number → float4; bigint → int8;
 *   string → text; Uint8Array → bytea, copied; other object → json
 * @returns {Uint8Array|null|undefined} null for null, undefined for what has no binary form
 */
function serialize(value) {
  if (value === null) return null;
  const view = new DataView(new ArrayBuffer(typeof value === 'bigint' ? 8 : 4));
  switch (typeof value) {
    case 'boolean': return Uint8Array.of(+value);
    case 'string': return encoder.encode(value);
    case 'object':
      if (value instanceof Uint8Array) return Uint8Array.from(value);
      return encoder.encode(JSON.stringify(value));
    case 'number':
      if ((value | 0) === value) view.setInt32(0, value);
      else view.setFloat32(0, value);
      break;
    case 'bigint': view.setBigInt64(0, value); break;
    default: return undefined;
  }
  return new Uint8Array(view.buffer);
}

/**
 * Decoders of binary values, `(bytes, start, end) => value`, by type OID: what rows of a `new Client(1)` use.
 * index.js fills it; your own may be added.
 */
export const TypeParser = { serialize };

/** What `decode: true` stands for: set by index.js, so that who imports a single room need not load it. */
export const defaults = { decoders: undefined };
