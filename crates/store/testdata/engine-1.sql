-- A state.db as Weir wrote it when the engine's tables were of version 1.
PRAGMA application_id = 1466263922;
PRAGMA user_version = 1;
CREATE TABLE schema (owner TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO schema VALUES ('engine', 1), ('web', 7);
CREATE TABLE engine_upstream (
    id INTEGER PRIMARY KEY,
    front TEXT NOT NULL,
    name TEXT NOT NULL,
    rung INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    last_start INTEGER,
    rest_since INTEGER,
    rest_until INTEGER,
    rest_cause TEXT,
    rest_reason TEXT,
    off_since INTEGER,
    off_by TEXT,
    off_reason TEXT,
    UNIQUE (front, name)
) STRICT;
INSERT INTO engine_upstream VALUES
    (1, 'search', 'harbor', 3, 4, 1779999990000000000, 1779999991000000000, 1780000900000000000, 'throttled', 'answered 429',
     NULL, NULL, NULL),
    (2, 'search', 'orchard', 0, 0, NULL, NULL, NULL, NULL, NULL, 1779000000000000000, 'operator', 'account renewal');
CREATE TABLE engine_start (
    upstream INTEGER NOT NULL REFERENCES engine_upstream (id) ON DELETE CASCADE,
    ledger TEXT NOT NULL,
    windows INTEGER NOT NULL,
    at INTEGER NOT NULL,
    times INTEGER NOT NULL,
    PRIMARY KEY (upstream, ledger, windows, at)
) STRICT, WITHOUT ROWID;
INSERT INTO engine_start VALUES (1, 'query', 7, 1779999990000000000, 2), (1, 'grab', 4, 1779999980000000000, 1);
CREATE TABLE engine_limit (
    upstream INTEGER NOT NULL REFERENCES engine_upstream (id) ON DELETE CASCADE,
    ledger TEXT NOT NULL,
    window TEXT NOT NULL,
    calls INTEGER NOT NULL,
    PRIMARY KEY (upstream, ledger, window)
) STRICT, WITHOUT ROWID;
INSERT INTO engine_limit VALUES (1, 'query', 'day', 100);
CREATE TABLE engine_agenda (
    front TEXT NOT NULL,
    id INTEGER NOT NULL,
    upstream TEXT NOT NULL,
    class INTEGER NOT NULL,
    budget TEXT NOT NULL,
    due INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    payload BLOB NOT NULL,
    PRIMARY KEY (front, id)
) STRICT, WITHOUT ROWID;
INSERT INTO engine_agenda VALUES ('search', 5, 'harbor', 1, 'grab', 1780000300000000000, 2, x'00ff');
