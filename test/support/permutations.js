'use strict';

// Orders of the steps of several sessions, as PostgreSQL's isolation tester has them.

/**
 * All orders in which the steps of several lists can come, each list in its own order.
 * @param {string[][]} lists
 * @yields {string[]}
 */
function* orders(lists) {
  const open = lists.filter(list => list.length > 0);
  if (open.length === 0) yield [];
  for (const list of open) {
    const rest = open.map(each => (each === list ? list.slice(1) : each));
    for (const order of orders(rest)) yield [list[0], ...order];
  }
}

module.exports = { orders };
