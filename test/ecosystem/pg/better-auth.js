'use strict';

const { betterAuth } = require('better-auth');
const { getMigrations } = require('better-auth/db/migration');

module.exports = async ({ pg, config, tell }) => {
  const database = new pg.Pool({ ...config, max: 4 });
  const options = {
    database,
    secret: 'a secret of at least thirty-two letters',
    baseURL: 'http://localhost:3000',
    emailAndPassword: { enabled: true }
  };
  const { runMigrations } = await getMigrations(options);
  await runMigrations();
  const auth = betterAuth(options);
  const body = { email: 'ann@example.com', password: 'a long password', name: 'Ann' };
  const { user } = await auth.api.signUpEmail({ body });
  tell(user.email, user.emailVerified, typeof user.id, user.createdAt instanceof Date);
  tell(await auth.api.signUpEmail({ body }).catch(({ status, body: { code } }) => [status, code]));
  const { token } = await auth.api.signInEmail({ body });
  const session = await auth.api.getSession({ headers: new Headers({ authorization: `Bearer ${token}` }) });
  tell(session === null, typeof token);
  tell(await auth.api.signInEmail({ body: { ...body, password: 'another password' } }).catch(({ status }) => status));
  tell(
    (await database.query('SELECT name, email, "emailVerified" FROM "user"')).rows,
    (await database.query('SELECT count(*) FROM session')).rows
  );
  await database.end();
};
