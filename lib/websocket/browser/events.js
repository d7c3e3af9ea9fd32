'use strict';

/** What a client and its users need of Node's EventEmitter. */
class EventEmitter {
  #listeners = new Map(); // type → [{ listener, once }]

  #add(type, listener, once) {
    if (typeof listener !== 'function') throw new TypeError('listener must be a function');
    // A list is never changed, so that emit can go through it.
    this.#listeners.set(type, [...this.#listeners.get(type) ?? [], { listener, once }]);
    return this;
  }

  on(type, listener) { return this.#add(type, listener, false); }
  once(type, listener) { return this.#add(type, listener, true); }
  addListener(type, listener) { return this.on(type, listener); }

  off(type, listener) {
    const list = this.#listeners.get(type) ?? [];
    const at = list.findLastIndex(known => known.listener === listener);
    if (at !== -1) this.#listeners.set(type, list.toSpliced(at, 1));
    return this;
  }

  removeListener(type, listener) { return this.off(type, listener); }

  removeAllListeners(type) {
    if (type === undefined) this.#listeners.clear();
    else this.#listeners.delete(type);
    return this;
  }

  listenerCount(type) { return this.#listeners.get(type)?.length ?? 0; }

  emit(type, ...values) {
    const list = this.#listeners.get(type) ?? [];
    if (list.length === 0 && type === 'error') throw values[0];
    for (const { listener, once } of list) {
      if (once) this.off(type, listener);
      listener.apply(this, values);
    }
    return list.length > 0;
  }
}

module.exports = { EventEmitter, setMaxListeners() {} };
