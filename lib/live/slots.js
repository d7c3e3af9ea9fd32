'use strict';

/** @returns {function(function(): Promise): Promise} that runs functions, only so many at once; the others wait in their order */
function slots(free) {
  const waiting = [];
  return async work => {
    if (free-- <= 0) await new Promise(resolve => { waiting.push(resolve); });
    try {
      return await work();
    } finally {
      free++;
      waiting.shift()?.();
    }
  };
}

module.exports = { slots };
