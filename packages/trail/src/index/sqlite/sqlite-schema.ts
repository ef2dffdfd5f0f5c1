// The tables of the index file. Any change here, or in what the rows mean, gets a new SCHEMA_VERSION: an index of
// another version is rebuilt from the log, never migrated.

// 3: an index of version 2 may lack what a failed commit lost.
export const SCHEMA_VERSION = 3
/** Marks a SQLite file as an index of a trail: "PLIX". */
export const APPLICATION_ID = 0x504c4958

// Entries and their two indexes are most of the file, so names are numbers in them, and the primary key is the table: a
// timeline reads neighbouring pages.
export const SCHEMA = `
CREATE TABLE meta (
  key INTEGER PRIMARY KEY CHECK (key = 1), version INTEGER NOT NULL, trail TEXT NOT NULL,
  segment INTEGER NOT NULL, "end" INTEGER NOT NULL, frame INTEGER NOT NULL,
  lastSegment INTEGER NOT NULL, lastAt INTEGER NOT NULL, lastMark INTEGER NOT NULL
);
CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE runs (
  key INTEGER PRIMARY KEY, run TEXT NOT NULL UNIQUE, head INTEGER NOT NULL, hash TEXT NOT NULL, updated INTEGER NOT NULL,
  first INTEGER NOT NULL, created INTEGER NOT NULL, rootSeq INTEGER NOT NULL, root TEXT NOT NULL,
  entries INTEGER NOT NULL, objects INTEGER NOT NULL, ended INTEGER NOT NULL, forgotten INTEGER NOT NULL,
  ordered INTEGER NOT NULL, lastFile INTEGER NOT NULL, lastAt INTEGER NOT NULL
);
CREATE TABLE entries (
  run INTEGER NOT NULL, seq INTEGER NOT NULL, workspace INTEGER NOT NULL, actor INTEGER NOT NULL, type INTEGER NOT NULL,
  ticks INTEGER NOT NULL, file INTEGER NOT NULL, at INTEGER NOT NULL, length INTEGER NOT NULL, PRIMARY KEY (run, seq)
) WITHOUT ROWID;
CREATE INDEX entries_workspace ON entries (run, workspace, seq);
CREATE INDEX entries_type ON entries (run, type, seq);
CREATE TABLE forgotten (run INTEGER NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (run, seq)) WITHOUT ROWID;
CREATE TABLE archives (file INTEGER PRIMARY KEY, state TEXT NOT NULL);
CREATE TABLE objects (
  run INTEGER NOT NULL, seq INTEGER NOT NULL, ordinal INTEGER NOT NULL, id TEXT NOT NULL,
  file INTEGER NOT NULL, at INTEGER NOT NULL, length INTEGER NOT NULL, crc INTEGER NOT NULL,
  PRIMARY KEY (run, seq, ordinal)
) WITHOUT ROWID;
CREATE UNIQUE INDEX objects_id ON objects (run, id);
CREATE TABLE damage (
  key INTEGER PRIMARY KEY, run TEXT NOT NULL, file INTEGER NOT NULL, at INTEGER NOT NULL, message TEXT NOT NULL,
  first INTEGER NOT NULL, last INTEGER NOT NULL, UNIQUE (run, file, at, message)
);
`
