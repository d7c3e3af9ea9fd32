'use strict';

/** What an answer takes in memory beside its bytes, its key and its tags, at most. */
const OVERHEAD = 1024;
/** What a tag of an answer takes beside its characters. */
const TAG_OVERHEAD = 256;

/**
 * What is kept, by key and by tag, in bounded memory: the least recently used entry leaves first. An entry is
 * `{ key, tags, size, answer, asking }`: the answer, if there is one, and what is being asked for. One that is
 * forgotten has neither any more, so that what is still asked for then is not kept.
 */
class Entries {
  #byKey = new Map(); // the least recently used first
  #order = this.#byKey.values();
  #byTag = new Map(); // sets of entries
  #maxBytes;

  /** @param {number} maxBytes */
  constructor(maxBytes) {
    this.#maxBytes = maxBytes;
    /** Memory that the answers take, an upper estimate. */
    this.bytes = 0;
    /** Answers that left for others to have room. */
    this.evictions = 0;
  }

  get size() { return this.#byKey.size; }

  /** @returns {object} the entry of a key, an empty one where there is none; now the most recently used one */
  use(key, tags) {
    const known = this.#byKey.get(key);
    const entry = known ?? { key, tags, size: 0, answer: undefined, asking: undefined };
    if (known !== undefined) this.#byKey.delete(key);
    this.#byKey.set(key, entry);
    if (known !== undefined) return entry;
    for (const tag of tags) {
      if (!this.#byTag.has(tag)) this.#byTag.set(tag, new Set());
      this.#byTag.get(tag).add(entry);
    }
    return entry;
  }

  /**
   * Gives an entry its answer; others leave for it to have room.
   * @returns {boolean} false where there is not that much room: the entry is forgotten
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

  /** One iterator goes on from call to call: a new one would first pass the places of all that left before. */
  #oldest() {
    let next = this.#order.next();
    if (next.done) {
      this.#order = this.#byKey.values();
      next = this.#order.next();
    }
    return next.value;
  }

  /** @param {object} [entry] */
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

  forgetKey(key) { this.forget(this.#byKey.get(key)); }

  /** Forgets all entries with a tag; without one, all that have any. */
  forgetTag(tag) {
    const sets = tag === undefined ? [...this.#byTag.values()] : [this.#byTag.get(tag) ?? []];
    for (const tagged of sets) for (const entry of tagged) this.forget(entry);
  }

  clear() {
    for (const entry of this.#byKey.values()) this.forget(entry);
    this.#order = this.#byKey.values(); // the old one would hold what was cleared
  }
}

module.exports = { Entries };
