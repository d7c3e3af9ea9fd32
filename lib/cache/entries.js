'use strict';

/** An upper estimate of an answer's memory beside its bytes, key and tags. */
const OVERHEAD = 1024;
/** The same for each tag, beside its characters. */
const TAG_OVERHEAD = 256;

/**
 * Entries by key and by tag in bounded memory: the least recently used one is evicted first. An entry is `{ key, tags,
 * size, answer, asking }`, where `asking` is the request under way. Forgetting an entry clears both, so that the
 * request's answer is not kept.
 */
class Entries {
  #byKey = new Map(); // the least recently used first
  #order; // iterator, which holds in memory what the map has replaced since it was last asked
  #byTag = new Map(); // sets of entries
  #maxBytes;
  #uses = 0; // of entries, since there may be an iterator

  constructor(maxBytes) {
    this.#maxBytes = maxBytes;
    /** An upper estimate of the memory of all answers. */
    this.bytes = 0;
    this.evictions = 0;
  }

  get size() {
    return this.#byKey.size;
  }

  /** @returns {object} the entry of a key, made if there is none; it becomes the most recently used one */
  use(key, tags) {
    if (++this.#uses > this.size) this.#forgetOrder();
    const known = this.#byKey.get(key);
    const entry = known ?? { key, tags, size: 0, answer: undefined, asking: undefined };
    this.#byKey.delete(key);
    this.#byKey.set(key, entry);
    if (known !== undefined) return entry;
    for (const tag of tags) {
      if (!this.#byTag.has(tag)) this.#byTag.set(tag, new Set());
      this.#byTag.get(tag).add(entry);
    }
    return entry;
  }

  /**
   * Gives an entry its answer, and evicts others to make room.
   * @returns {boolean} false if the answer does not fit; the entry is then forgotten
   */
  keep(entry, answer) {
    const { key, tags } = entry;
    let size = OVERHEAD + answer.body.length + 2 * key.length;
    for (const tag of tags) size += TAG_OVERHEAD + 2 * tag.length;
    this.bytes += size - entry.size;
    entry.size = size;
    entry.answer = answer;
    if (size > this.#maxBytes) this.forget(entry);
    while (this.bytes > this.#maxBytes) {
      const oldest = this.#oldest();
      if (oldest.answer !== undefined) this.evictions++;
      this.forget(oldest);
    }
    return size <= this.#maxBytes;
  }

  /** The iterator is kept for several calls: a new one walks over the places of all evicted entries. */
  #oldest() {
    this.#order ??= this.#byKey.values();
    return this.#order.next().value; // there is one: what it gave before was forgotten
  }

  forget(entry) {
    if (entry === undefined) return;
    this.#byKey.delete(entry.key);
    this.bytes -= entry.size;
    entry.answer = entry.asking = undefined;
    for (const tag of entry.tags) {
      const tagged = this.#byTag.get(tag);
      tagged.delete(entry);
      if (tagged.size === 0) this.#byTag.delete(tag);
    }
  }

  forgetKey(key) {
    this.forget(this.#byKey.get(key));
  }

  /** Forgets all entries with a tag, or all that have any tag. */
  forgetTag(tag) {
    const sets = tag === undefined ? [...this.#byTag.values()] : [this.#byTag.get(tag) ?? []];
    for (const tagged of sets) for (const entry of tagged) this.forget(entry);
  }

  clear() {
    for (const entry of this.#byKey.values()) this.forget(entry);
    this.#forgetOrder();
  }

  #forgetOrder() {
    this.#order = undefined;
    this.#uses = 0;
  }
}

module.exports = { Entries };
