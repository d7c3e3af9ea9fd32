'use strict';
module.exports = { async findExternal() { return undefined; } };
