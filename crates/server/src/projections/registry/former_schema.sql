-- As files of version 4 are.
CREATE TABLE jobs (
    no INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    run_id TEXT NOT NULL,
    state INTEGER NOT NULL,
    worker TEXT NOT NULL,
    submitted_at INTEGER NOT NULL,
    ended_at INTEGER NOT NULL,
    body BLOB NOT NULL,
    spec BLOB
);
CREATE INDEX jobs_by_id ON jobs (id);
-- Nearly all jobs complete, and those need no index to be found.
CREATE INDEX jobs_by_state ON jobs (state) WHERE state <> 6;
CREATE INDEX jobs_by_kind ON jobs (kind);
CREATE INDEX jobs_by_run ON jobs (run_id) WHERE run_id <> '';
CREATE INDEX jobs_of_runs ON jobs (no) WHERE run_id <> '';
CREATE INDEX jobs_by_end ON jobs (ended_at) WHERE ended_at > 0;
-- Large specs lie apart, because they never change and the row does.
CREATE TABLE specs (no INTEGER PRIMARY KEY, spec BLOB NOT NULL);
CREATE TABLE tags (tag TEXT NOT NULL, no INTEGER NOT NULL, PRIMARY KEY (tag, no)) WITHOUT ROWID;
CREATE TABLE workers (no INTEGER PRIMARY KEY, id TEXT NOT NULL);
-- Everything up to `seq` is written; some of what came after, up to `reached`, is, too.
CREATE TABLE position (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    seq INTEGER NOT NULL,
    reached INTEGER NOT NULL
);
INSERT INTO position VALUES (1, 3000, 3000);
PRAGMA user_version = 4;
