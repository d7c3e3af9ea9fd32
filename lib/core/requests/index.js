'use strict';

// What is sent: a class for each kind of request. What a plain query does not need is loaded late.

const { late } = require('../late');
const { DISCARD, QueryRequest } = require('../pipeline');

const later = late({ ownTypes: () => require('./own-types') });
const { ProofRequest, mayBePooled } = require('./proof');

module.exports = Object.assign(
  late({
    BatchRequest: () => require('./batch').BatchRequest,
    CopyInRequest: () => require('./copy').CopyInRequest,
    CopyOutRequest: () => require('./copy').CopyOutRequest,
    DescribeRequest: () => require('./describe').DescribeRequest,
    OwnTypesRequest: () => later.ownTypes.OwnTypesRequest,
    Portal: () => require('./portal').Portal,
    SimpleQueryRequest: () => require('./simple-query').SimpleQueryRequest
  }),
  {
    DISCARD,
    QueryRequest,
    /** @returns {ProofRequest|undefined} if it has to be found out whether a connection takes pipelined requests */
    proofFor: connection =>
      connection.config.max_pipeline === undefined && mayBePooled(connection)
        ? new ProofRequest(connection.processId)
        : undefined,
    /** @returns {OwnTypes|undefined} if connections of a config are to ask for them */
    ownTypesFor: config =>
      (config?.fetch_types ?? config?.decode !== false) ? new later.ownTypes.OwnTypes() : undefined
  }
);
