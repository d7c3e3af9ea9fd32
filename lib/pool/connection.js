'use strict';

/*
 * A connection is `{ home, client, state, users, since, expires, proved }`. Its state is 'connecting'; 'shared' by plain
 * queries; 'draining': it gets no more of them, as somebody waits to own it; 'owned' by one; 'ending'. `users` counts
 * the requests it was given to; `since`: when the last of them was over; `proved`: it has served one.
 */
const isOpen = ({ client, state }) => client.state === 'open' && state !== 'connecting' && state !== 'ending';
const isUnused = ({ client, users }) => users === 0 && client.pending === 0;
const isIdle = each => isUnused(each) && each.state !== 'owned' && isOpen(each);

/** How long a plain query is likely to wait: as long again as the one that is being answered, and for the others. */
const costOf = (each, now) => isUnused(each) ? -1 : now - each.since + each.users;

module.exports = { costOf, isIdle, isOpen, isUnused };
