module.exports = require('../config').ConnectionParameters;
