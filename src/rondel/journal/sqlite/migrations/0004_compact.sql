-- Ticks may be of format 2 from here on, which no earlier version reads, and snapshots may be
-- packed with zlib: a long history is most of both, and its snapshots would double the file.
ALTER TABLE snapshot ADD COLUMN packed INTEGER NOT NULL DEFAULT 0;
