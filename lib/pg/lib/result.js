module.exports = require('../result').Result;
