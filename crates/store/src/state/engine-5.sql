-- When an operator last switched an upstream on, for other nodes that were away meanwhile.
ALTER TABLE engine_upstream ADD COLUMN on_since INTEGER;
