import { isBytes, octets, scratch, view } from './text.js';

function numberBytes(method, value, size) {
  scratch[method](0, value);
  return octets.slice(0, size);
}

/**
 * The binary format of a value: boolean → bool, integer of 32 bits → int4, other number → float4, bigint → int8, string
 * → text, an ArrayBuffer or a view of one → bytea, other object → json.
 * @returns {Uint8Array|null|undefined} null for null, undefined for other values
 */
function serialize(value) {
  if (value === null) return null;
  if (isBytes(value)) return view(value).slice();
  switch (typeof value) {
    case 'boolean':
      return Uint8Array.of(+value);
    case 'object':
      value = JSON.stringify(value);
    // fall through
    case 'string':
      return new TextEncoder().encode(value); // Jest's jsdom has none: made when it is needed
    case 'number':
      return numberBytes((value | 0) === value ? 'setInt32' : 'setFloat32', value, 4);
    case 'bigint':
      return numberBytes('setBigInt64', value, 8);
  }
}

/** Decoders of binary values by type OID, for a `new Client(1)`. index.js fills it, and programs may extend it. */
export const TypeParser = { serialize };

/** The meaning of `decode: true`, set by index.js, so that programs that import single files need not load it. */
export const defaults = {};
