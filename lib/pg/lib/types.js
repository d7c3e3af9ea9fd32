module.exports = require('../types').types;
