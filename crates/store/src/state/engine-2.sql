-- What lets rows go: since when an upstream is gone from the configuration, and starts by age.
ALTER TABLE engine_upstream ADD COLUMN gone INTEGER;
CREATE INDEX engine_start_age ON engine_start (windows, at);
