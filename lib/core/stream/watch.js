'use strict';

const { finished } = require('node:stream');
const { List } = require('../list');
const { AbortError } = require('../protocol');

const nothing = () => {};

const closedBefore = cause => new AbortError('the target was closed before it had taken the result', cause);

/** The property of a stream that holds the list of who watches it. One listener serves all of them. */
const WATCHERS = Symbol('watchers');

const isServerResponse = ({ assignSocket }) => typeof assignSocket === 'function';

function tell(stream, error) {
  const watchers = stream[WATCHERS];
  while (watchers.size > 0) watchers.shift().over(error);
}

function onError(error) {
  tell(this, error);
}
function onFinish() {
  tell(this);
}
function onClose() {
  this.removeListener('error', onError).removeListener('finish', onFinish).removeListener('close', onClose);
  tell(this, this.errored || (this.writableFinished ? undefined : closedBefore()));
  this[WATCHERS] = undefined;
}

/** An HTTP/1.1 response may emit 'finish' although it was cut off, and its errors carry no more information. */
function onResponseClose() {
  this.removeListener('error', nothing);
  tell(this, this.writableFinished ? undefined : closedBefore());
}

/**
 * Calls `watcher.over` when a stream has finished, failed or closed, even if that is in the past. Until the stream has
 * closed, its errors do not end the program, since it may fail after its last use.
 */
function watch(stream, watcher) {
  if (stream[WATCHERS] === undefined) {
    stream[WATCHERS] = new List();
    // By Node's `finished` a result of one row would cost 1.15 ×.
    const isPlain = stream.writableFinished === false && !stream.destroyed && stream.session === undefined;
    if (isPlain && isServerResponse(stream)) stream.on('error', nothing).once('close', onResponseClose);
    else if (isPlain) stream.on('error', onError).on('finish', onFinish).on('close', onClose);
    else {
      // HTTP/2 streams finish when they are cut off, and other streams may lack events: Node's `finished` knows each
      // kind.
      stream.once(
        'close',
        finished(stream, { readable: false }, error => {
          tell(stream, error || undefined);
          stream[WATCHERS] = undefined;
        })
      );
    }
  }
  watcher.watched = stream[WATCHERS].add(watcher);
}

/** Ends what `watch` has begun. */
function unwatch(stream, watcher) {
  stream[WATCHERS]?.delete(watcher.watched);
}

module.exports = { closedBefore, isServerResponse, nothing, unwatch, watch };
