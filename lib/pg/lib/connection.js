module.exports = require('../client').Connection;
