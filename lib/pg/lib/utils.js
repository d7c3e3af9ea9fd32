module.exports = require('../values');
