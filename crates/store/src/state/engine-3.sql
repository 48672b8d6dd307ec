-- Windows of any length, each named by its length in seconds. A start is one row per window that it counts in, so it can
-- be deleted when it has left that one.
DROP INDEX engine_start_age;
ALTER TABLE engine_start RENAME TO engine_start_2;
CREATE TABLE engine_start (
    upstream INTEGER NOT NULL REFERENCES engine_upstream (id) ON DELETE CASCADE,
    ledger TEXT NOT NULL,
    window INTEGER NOT NULL,
    at INTEGER NOT NULL,
    times INTEGER NOT NULL,
    PRIMARY KEY (upstream, ledger, window, at)
) STRICT, WITHOUT ROWID;
INSERT INTO engine_start
    SELECT upstream, ledger, length, at, sum(times)
    FROM engine_start_2
    JOIN (SELECT 1 AS bit, 60 AS length UNION ALL SELECT 2, 3600 UNION ALL SELECT 4, 86400) ON windows & bit
    GROUP BY upstream, ledger, length, at;
DROP TABLE engine_start_2;
CREATE INDEX engine_start_end ON engine_start (at + window * 1000000000);

ALTER TABLE engine_limit RENAME TO engine_limit_2;
CREATE TABLE engine_limit (
    upstream INTEGER NOT NULL REFERENCES engine_upstream (id) ON DELETE CASCADE,
    ledger TEXT NOT NULL,
    window INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    PRIMARY KEY (upstream, ledger, window)
) STRICT, WITHOUT ROWID;
INSERT INTO engine_limit
    SELECT upstream, ledger, CASE window WHEN 'minute' THEN 60 WHEN 'hour' THEN 3600 ELSE 86400 END, calls
    FROM engine_limit_2 WHERE window IN ('minute', 'hour', 'day');
DROP TABLE engine_limit_2;
