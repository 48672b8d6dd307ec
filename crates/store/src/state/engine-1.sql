-- The engine's rows. Times are nanoseconds since 1970.
CREATE TABLE engine_upstream (
    id INTEGER PRIMARY KEY,
    front TEXT NOT NULL,
    name TEXT NOT NULL,
    rung INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    last_start INTEGER,
    rest_since INTEGER,
    rest_until INTEGER, -- with the other rest columns, or none of them
    rest_cause TEXT,
    rest_reason TEXT,
    off_since INTEGER, -- with the other off columns, or none of them
    off_by TEXT,
    off_reason TEXT,
    UNIQUE (front, name)
) STRICT;

-- One row per start: calls that count in windows. `windows` is a set: 1 minute, 2 hour, 4 day.
CREATE TABLE engine_start (
    upstream INTEGER NOT NULL REFERENCES engine_upstream (id) ON DELETE CASCADE,
    ledger TEXT NOT NULL,
    windows INTEGER NOT NULL,
    at INTEGER NOT NULL,
    times INTEGER NOT NULL,
    PRIMARY KEY (upstream, ledger, windows, at)
) STRICT, WITHOUT ROWID;

-- Limits that upstreams told.
CREATE TABLE engine_limit (
    upstream INTEGER NOT NULL REFERENCES engine_upstream (id) ON DELETE CASCADE,
    ledger TEXT NOT NULL,
    window TEXT NOT NULL,
    calls INTEGER NOT NULL,
    PRIMARY KEY (upstream, ledger, window)
) STRICT, WITHOUT ROWID;

-- Scheduled jobs. The upstream is named and not referred to: an entry may come before its upstream's first row.
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
