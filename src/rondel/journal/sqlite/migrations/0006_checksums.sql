-- Checksums: damage is seen, whatever it hits. A tick's is chained: it covers its record and the
-- checksum of the tick before it in its session. NULL: written by an earlier version.
ALTER TABLE tick ADD COLUMN sum INTEGER;
-- Of what never changes in a session's row, and of its status, reason and time.
ALTER TABLE session ADD COLUMN sum INTEGER;
ALTER TABLE session ADD COLUMN state_sum INTEGER;
-- Of the lease; where the ticks end is known from the ticks.
ALTER TABLE head ADD COLUMN lease_sum INTEGER;
ALTER TABLE snapshot ADD COLUMN sum INTEGER;
ALTER TABLE letter ADD COLUMN sum INTEGER;
ALTER TABLE memory ADD COLUMN sum INTEGER;
ALTER TABLE attachment_hold ADD COLUMN sum INTEGER;

-- The processes that have written to the file and not closed it yet. Where one is named and there
-- is no write-ahead log beside the file, what was in the log is missing.
CREATE TABLE opening (process TEXT PRIMARY KEY) WITHOUT ROWID;
