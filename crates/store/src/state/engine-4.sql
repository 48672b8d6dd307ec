-- What is said about an upstream stays the same over a restart: whether it ever answered, its last call and error, the
-- beginning of its latest cooldown, and a few bytes of the front's own.
ALTER TABLE engine_upstream ADD COLUMN answered INTEGER NOT NULL DEFAULT 0;
ALTER TABLE engine_upstream ADD COLUMN last_call INTEGER;
ALTER TABLE engine_upstream ADD COLUMN error_at INTEGER; -- with the words, or neither of them
ALTER TABLE engine_upstream ADD COLUMN error_words TEXT;
ALTER TABLE engine_upstream ADD COLUMN rest_began INTEGER;
ALTER TABLE engine_upstream ADD COLUMN own BLOB NOT NULL DEFAULT x'';
-- Until now it was not noted who has answered; whoever was called is not new.
UPDATE engine_upstream SET answered = 1, last_call = last_start WHERE last_start IS NOT NULL;

-- The latest states and records as text: one row for each upstream, and one with an empty name for the front itself.
CREATE TABLE engine_past (
    front TEXT NOT NULL,
    upstream TEXT NOT NULL,
    skew INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (front, upstream)
) STRICT;
