'use strict';

// Members of sessions that are the library's own. As symbols they are no names of a program's, and `Symbol.for` makes
// them those of another copy of the library, too.

const named = name => Symbol.for(`quickgres.${name}`);

module.exports = {
  /** Begins the steps of a new connection, with its root scope. */
  BEGIN_STEPS: named('beginSteps'),
  /** The Channels of `listen`. */
  CHANNELS: named('channels'),
  /** Begins a COPY FROM STDIN, for which only a Client has steps. */
  COPY_IN: named('copyIn'),
  /** Ends open steps, since the client takes no more requests. */
  END_STEPS: named('endSteps'),
  /** Ends the open COPY streams of a transaction. */
  GIVE_UP_STREAMS: named('giveUpStreams'),
  /** What a session sends in, see Scope.run; a Client has another one for each connection. */
  LEASE: named('lease'),
  /** The stream to the server while the connection is open, which quickgres/pg shows. */
  STREAM: named('stream')
};
