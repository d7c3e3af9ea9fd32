import quickgres = require('../index.js');

export * from '../index.js';
export default quickgres;
