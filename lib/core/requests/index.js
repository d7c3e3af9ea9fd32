'use strict';

// What is sent: a class for each kind of request. What a plain query does not need is loaded late.

const { late } = require('../late');
const { DISCARD, InternalQuery, QueryRequest, executionOf } = require('../pipeline');
const rows = require('../rows');
const { ProofRequest, mayBePooled } = require('./proof');

/** What connections have in common that replace each other or belong to one pool, see Pipeline. */
class Common {
  #types;

  /** @param {object} parts `decoding`, and perhaps `isPooled` and `silent` */
  constructor(parts) {
    Object.assign(this, parts);
  }

  /** @type {Types} what was learned of the database's types */
  get types() {
    return (this.#types ??= new rows.Types());
  }

  /** The next connection may be one to another database. */
  forgetTypes() {
    this.#types = undefined;
  }
}

module.exports = Object.assign(
  late({
    BatchRequest: () => require('./batch').BatchRequest,
    CommitRequest: () => require('./commit').CommitRequest,
    CopyInRequest: () => require('./copy').CopyInRequest,
    CopyOutRequest: () => require('./copy').CopyOutRequest,
    DescribeRequest: () => require('./describe').DescribeRequest,
    Portal: () => require('./portal').Portal,
    COPY: () => require('./simple-query').COPY,
    SimpleQueryRequest: () => require('./simple-query').SimpleQueryRequest
  }),
  {
    Common,
    DISCARD,
    InternalQuery,
    QueryRequest,
    executionOf,
    /** @returns {ProofRequest|undefined} if it has to be found out whether a connection takes pipelined requests */
    proofFor: connection =>
      connection.config.max_pipeline === undefined && mayBePooled(connection)
        ? new ProofRequest(connection.processId)
        : undefined
  }
);
