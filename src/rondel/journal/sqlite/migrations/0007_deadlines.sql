-- When a session needs somebody though nobody asks: its next deadline, by the store's clock. It is
-- noted with the status and covered by the same checksum. Whoever minds deadlines reads this index
-- and no journal.
ALTER TABLE session ADD COLUMN due REAL;
CREATE INDEX session_by_due ON session (due) WHERE due IS NOT NULL;

-- Nobody noted when these are due: somebody looks at each, once.
UPDATE session SET due = 0, state_sum = NULL WHERE status = 'waiting';
