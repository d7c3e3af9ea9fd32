module.exports = require('../query').Query;
