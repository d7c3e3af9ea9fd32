module.exports = require('../client').Client;
