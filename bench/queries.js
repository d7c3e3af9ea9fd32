'use strict';

/** The statements of the workloads: the same text for every client. */
module.exports = {
  SELECT: 'SELECT id, name, email, password FROM users WHERE id = $1',
  ROWS: 'SELECT * FROM wide_text',
};
