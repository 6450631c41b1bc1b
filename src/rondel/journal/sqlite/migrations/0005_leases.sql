-- Since when the machine runs by whose own time `until` is meant: a clock on the wall may be set
-- while a session is driven. NULL: `until` is a time on the wall.
ALTER TABLE head ADD COLUMN boot INTEGER;
