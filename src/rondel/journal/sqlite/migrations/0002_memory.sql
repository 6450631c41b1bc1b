-- Working memory: what was promoted, by group. A session without a group is one of its own; such
-- groups (`own` = 1) are named by session ids and kept apart from those that have a name, so that
-- no name opens them. The order of promotion is that of `id`.
CREATE TABLE memory (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    own INTEGER NOT NULL,
    name TEXT NOT NULL,
    session TEXT NOT NULL,
    address TEXT NOT NULL,
    number INTEGER NOT NULL,
    node_id TEXT NOT NULL,
    content BLOB NOT NULL,
    data BLOB NOT NULL,
    confidence REAL,
    created_at REAL NOT NULL
);
CREATE INDEX memory_by_group ON memory (own, name, id);
CREATE UNIQUE INDEX memory_once ON memory (own, name, session, address, number);
