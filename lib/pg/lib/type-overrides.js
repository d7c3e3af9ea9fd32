module.exports = require('../types').TypeOverrides;
