'use strict';

// What is sent: a class for each kind of request. What a plain query does not need is loaded late.

const { late } = require('../late');
const { DROPPED, QueryRequest } = require('../pipeline');

const later = late({
  copy: () => require('./copy'),
  ownTypes: () => require('./own-types'),
  portal: () => require('./portal'),
  simpleQuery: () => require('./simple-query')
});
let batch; // a repeated require costs a microsecond, as much as a query of a batch

module.exports = {
  DROPPED,
  QueryRequest,
  get BatchRequest() {
    return (batch ??= require('./batch')).BatchRequest;
  },
  get CopyInRequest() {
    return later.copy.CopyInRequest;
  },
  get CopyOutRequest() {
    return later.copy.CopyOutRequest;
  },
  get DescribeRequest() {
    return require('./describe').DescribeRequest;
  },
  /** @returns {OwnTypes|undefined} if connections of a config are to ask for them */
  ownTypesFor: config =>
    (config?.fetch_types ?? config?.decode !== false) ? new later.ownTypes.OwnTypes() : undefined,
  get OwnTypesRequest() {
    return later.ownTypes.OwnTypesRequest;
  },
  get Portal() {
    return later.portal.Portal;
  },
  get SimpleQueryRequest() {
    return later.simpleQuery.SimpleQueryRequest;
  }
};
