module.exports = require('../pool').Pool;
