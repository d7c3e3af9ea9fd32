module.exports = require('../values').defaults;
