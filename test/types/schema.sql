CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN email AS text CHECK (VALUE LIKE '%@%'); CREATE DOMAIN list AS int[]; CREATE DOMAIN list2 AS list;
CREATE TABLE people (
  id int PRIMARY KEY, name text NOT NULL, mail email, mood mood NOT NULL DEFAULT 'ok', moods mood[], tags text[] NOT NULL DEFAULT '{}',
  data jsonb NOT NULL DEFAULT '{}', visits bigint NOT NULL DEFAULT 0, balance numeric(10, 2) NOT NULL DEFAULT 0, seen timestamptz, born date,
  picture bytea, uid uuid NOT NULL DEFAULT gen_random_uuid(), active boolean NOT NULL DEFAULT true
);
CREATE TABLE posts (id bigint PRIMARY KEY, person int NOT NULL REFERENCES people, title text NOT NULL, parent bigint REFERENCES posts);
CREATE VIEW authors AS SELECT p.id, p.name, t.title FROM people p LEFT JOIN posts t ON t.person = p.id;
CREATE TABLE parents (id int); CREATE TABLE children () INHERITS (parents); ALTER TABLE ONLY children ALTER id SET NOT NULL;
CREATE TABLE checked (id int);
CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN NEW.name := coalesce(NEW.name, 'x'); RETURN NEW; END$$;
CREATE TABLE filled (id int NOT NULL, name text NOT NULL); CREATE TRIGGER fill BEFORE INSERT ON filled FOR EACH ROW EXECUTE FUNCTION fill();
INSERT INTO people (id, name, mail) VALUES (1, 'a', 'a@b'), (2, 'b', NULL), (3, 'c', 'c@d');
INSERT INTO posts VALUES (10, 1, 'x', NULL), (11, 1, 'y', 10), (12, 2, 'z', 10);
INSERT INTO checked VALUES (NULL), (1); INSERT INTO children VALUES (1);
CREATE SCHEMA app; CREATE TYPE app.oid AS ENUM ('a'); CREATE DOMAIN app.bool AS text; CREATE TYPE app.json AS (int8 app.bool); CREATE TABLE app.named (o app.oid, b app.bool, j app.json, os app.oid[]);
