-- When a session needs somebody though nobody asks: its next deadline. Whoever minds deadlines
-- reads this index and no journal.
ALTER TABLE rondel.session ADD COLUMN due double precision;
CREATE INDEX session_by_due ON rondel.session (due) WHERE due IS NOT NULL;

-- Nobody noted when these are due: somebody looks at each, once.
UPDATE rondel.session SET due = 0 WHERE status = 'waiting';
