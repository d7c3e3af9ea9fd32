-- Two roles: `web` may use the tables, for the tenant that `app.tenant` names. `app`, with which the service connects, has the rights
-- of `web` only in queries that ask for them. Roles belong to the whole server, so they may be there.
DO $$ BEGIN
  IF to_regrole('web') IS NULL THEN CREATE ROLE web; END IF;
  IF to_regrole('app') IS NULL THEN CREATE ROLE app LOGIN NOINHERIT PASSWORD 'secret'; END IF;
END $$;
GRANT web TO app;
-- PgBouncer refuses settings in a config: they belong to the role.
ALTER ROLE app SET statement_timeout = '10s';
ALTER ROLE app SET idle_in_transaction_session_timeout = '10s';

CREATE TABLE tasks (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  tenant text NOT NULL DEFAULT current_setting('app.tenant'),
  body text NOT NULL CHECK (body <> ''),
  due date,
  done bool NOT NULL DEFAULT false
);
CREATE INDEX ON tasks (tenant, due);
ALTER TABLE tasks ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON tasks USING (tenant = current_setting('app.tenant'));
GRANT SELECT, INSERT, UPDATE, DELETE ON tasks TO web;

CREATE TABLE jobs (id bigserial PRIMARY KEY, tenant text NOT NULL DEFAULT current_setting('app.tenant'), task uuid NOT NULL);
GRANT INSERT ON jobs TO web;
GRANT SELECT, DELETE, UPDATE ON jobs TO app;
GRANT USAGE ON SEQUENCE jobs_id_seq TO web;

-- Each change tells the tag of what it changes: for live results, and for the cache.
CREATE FUNCTION changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_notify('changes', TG_TABLE_NAME); RETURN NULL; END $$;
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON tasks
  FOR EACH STATEMENT EXECUTE FUNCTION changed();
