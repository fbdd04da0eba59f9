-- The file of one party of a deployment. Every row ends with a digest of what stands before it; those of `spends` form a chain.
CREATE TABLE deployment (
  id TEXT NOT NULL,                 -- random name of this file
  created INTEGER NOT NULL,         -- UTC, in seconds since 1970, as all times here
  program_version TEXT NOT NULL,
  place TEXT NOT NULL,              -- where the file stands: tells a copy from a file that has moved
  naming TEXT NOT NULL,             -- what names a record: rows, ids, or keyed (a keyed hash of the id)
  key_check BLOB,                   -- tells the key of `keyed` from another
  anchor TEXT,                      -- the file, on another disk, that knows the newest answer
  changes INTEGER NOT NULL,         -- commands that have changed the file
  digest BLOB NOT NULL);
CREATE TABLE budgets (              -- at most one row
  filter TEXT NOT NULL,             -- how losses add up
  epsilon REAL, delta REAL,         -- most that one record may spend; none if absent
  protects TEXT,                    -- the change of a record that the budget is stated for
  rows INTEGER,                     -- records of the table, where they are rows of one
  per TEXT,                         -- the budget is renewed each day, week, month or year
  digest BLOB NOT NULL);
CREATE TABLE columns (              -- what is released by one mechanism
  column_id INTEGER PRIMARY KEY,
  source TEXT NOT NULL UNIQUE,      -- random name of the session, release state or curated table that draws the noise
  is_own INTEGER NOT NULL,          -- 1 if it is drawn for this file, 0 if it is counted here for another one
  form TEXT NOT NULL,               -- who adds the noise
  name TEXT NOT NULL,               -- what is measured
  mechanism TEXT NOT NULL,
  epsilon REAL, delta REAL,         -- loss of one answer; none if rewards pass no mechanism
  odometer TEXT, odometer_id TEXT,  -- the file whose budget counts the answers too
  terms BLOB NOT NULL,              -- digest of the rows of `terms`
  n INTEGER NOT NULL,               -- answers so far
  digest BLOB NOT NULL);
CREATE TABLE terms (                -- ledger, loss and declaration of a column, one number or text a row
  column_id INTEGER NOT NULL, part TEXT NOT NULL, name TEXT NOT NULL, value,
  PRIMARY KEY (column_id, part, name)) WITHOUT ROWID;
CREATE TABLE sessions (
  column_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  spec_name TEXT NOT NULL, spec TEXT NOT NULL, spec_hash TEXT NOT NULL,
  data TEXT NOT NULL,               -- folder of the points
  fingerprint TEXT NOT NULL,        -- of the points
  asked INTEGER,                    -- the row whose reward is still to come
  digest BLOB NOT NULL);
CREATE TABLE people (               -- records that are named by ids, and rows that have left
  record INTEGER PRIMARY KEY,
  id UNIQUE, joined INTEGER, left_at INTEGER,
  digest BLOB NOT NULL);
CREATE TABLE commands (
  command_id INTEGER PRIMARY KEY,
  program_version TEXT NOT NULL, command TEXT NOT NULL, who TEXT NOT NULL,
  digest BLOB NOT NULL,
  UNIQUE (program_version, command, who));
CREATE TABLE spends (               -- one row for each answer, never changed
  spend_id INTEGER PRIMARY KEY,
  column_id INTEGER NOT NULL,
  record INTEGER NOT NULL,          -- -1 for every record
  time INTEGER NOT NULL, command_id INTEGER NOT NULL,
  name BLOB,                        -- of an answer that was made elsewhere; an own one is named by its digest
  salt INTEGER NOT NULL,            -- random, so that no two copies of a file give an answer the same name
  digest BLOB NOT NULL);
CREATE TABLE releases (             -- the answers themselves
  spend_id INTEGER PRIMARY KEY,
  column_id INTEGER NOT NULL, record INTEGER NOT NULL, round INTEGER NOT NULL,
  released REAL,                    -- the value with its noise
  reward REAL, noise_key BLOB,      -- for sums over users alone: the raw reward and the key of the round's noise
  item BLOB,                        -- for items of users with noise of their own: the released numbers, eight bytes each
  UNIQUE (column_id, record, round));
CREATE TABLE accounts (             -- how often a record was answered about, by column and period of the budget
  record INTEGER NOT NULL, column_id INTEGER NOT NULL, period INTEGER NOT NULL,
  n INTEGER NOT NULL,
  digest BLOB NOT NULL,
  PRIMARY KEY (record, column_id, period)) WITHOUT ROWID;
CREATE TABLE refusals (
  refusal_id INTEGER PRIMARY KEY,
  time INTEGER NOT NULL, column_id INTEGER, record INTEGER, command_id INTEGER NOT NULL, why TEXT NOT NULL,
  digest BLOB NOT NULL);
CREATE TABLE tickets (              -- the newest answer of other parties' files, as their answers state it
  source TEXT PRIMARY KEY, number INTEGER NOT NULL, name BLOB NOT NULL,
  digest BLOB NOT NULL) WITHOUT ROWID;
CREATE VIEW answers AS
  SELECT spend_id, datetime(time, 'unixepoch') AS time, columns.name AS measured, mechanism, record,
    (SELECT id FROM people WHERE people.record = spends.record) AS id, epsilon, delta, command, who
  FROM spends JOIN columns USING (column_id) JOIN commands USING (command_id);
