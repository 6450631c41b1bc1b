-- Graphs as written; sessions of the same graph share one row.
CREATE TABLE graph (
    key INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    document BLOB NOT NULL,
    includes BLOB NOT NULL
);

-- AUTOINCREMENT: a key that another process may remember is never given to a second session.
CREATE TABLE session (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    graph INTEGER NOT NULL REFERENCES graph (key),
    graph_id TEXT NOT NULL,
    inputs BLOB NOT NULL,
    labels BLOB NOT NULL,
    status TEXT NOT NULL,
    reason TEXT NOT NULL,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    parent INTEGER REFERENCES session (key),
    parent_length INTEGER NOT NULL
);
CREATE INDEX session_by_age ON session (created_at, key);
CREATE INDEX session_by_status ON session (status, created_at, key);
CREATE INDEX session_by_graph_id ON session (graph_id, created_at, key);
CREATE INDEX session_by_graph ON session (graph);
CREATE INDEX session_by_parent ON session (parent) WHERE parent IS NOT NULL;

-- Where each session's ticks end, and who drives it. Small rows side by side: a commit for a
-- hundred sessions touches a page or two of them. An append is a compare-and-swap on `length`
-- and `owner`, so a gap, a double or a second driver is impossible.
-- The head of the session that wrote the very last tick may lag behind, so that a lone session
-- writes one page for each tick; whoever writes for another session next brings it up to date.
-- `extent` is the truth.
CREATE TABLE head (
    session INTEGER PRIMARY KEY,
    length INTEGER NOT NULL,
    last INTEGER,
    owner TEXT,
    until REAL
);

-- All ticks in the order of writing, so that a commit for many sessions touches the last pages
-- only; each points back to the one before it in its session. Every 64th is indexed, as the
-- place where reading a part of a long session begins.
CREATE TABLE tick (
    seq INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    n INTEGER NOT NULL,
    prev INTEGER,
    record BLOB NOT NULL
);
CREATE UNIQUE INDEX tick_mark ON tick (session, n) WHERE n % 64 = 0;

CREATE VIEW extent AS
SELECT
    head.session,
    coalesce(tick.n + 1, head.length) AS length,
    coalesce(tick.seq, head.last) AS last,
    head.owner,
    head.until
FROM head LEFT JOIN tick
ON tick.seq = (SELECT max(seq) FROM tick) AND tick.session = head.session;

CREATE TABLE letter (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL,
    control BLOB NOT NULL,
    posted_at REAL NOT NULL
);
CREATE INDEX letter_by_session ON letter (session, number);

CREATE TABLE snapshot (
    session INTEGER NOT NULL,
    n INTEGER NOT NULL,
    state BLOB NOT NULL,
    PRIMARY KEY (session, n)
);
