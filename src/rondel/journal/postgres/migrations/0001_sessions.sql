-- Texts are `stored` (see words.py): PostgreSQL takes no NUL. What may be of any length has its
-- SHA-256 beside it where it must be found: an index takes some 2,700 bytes.

-- Graphs as written; sessions of the same graph share one row.
CREATE TABLE rondel.graph (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    digest bytea NOT NULL UNIQUE,
    document bytea NOT NULL,
    includes bytea NOT NULL
);

CREATE TABLE rondel.session (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    graph bigint NOT NULL REFERENCES rondel.graph (key),
    graph_id text COLLATE "C" NOT NULL,
    inputs bytea NOT NULL,
    labels bytea NOT NULL,
    status text COLLATE "C" NOT NULL,
    reason text COLLATE "C" NOT NULL,
    created_at double precision NOT NULL,
    updated_at double precision NOT NULL,
    parent bigint REFERENCES rondel.session (key),
    parent_length bigint NOT NULL
);
CREATE INDEX session_by_age ON rondel.session (created_at, key);
CREATE INDEX session_by_status ON rondel.session (status, created_at, key);
CREATE INDEX session_by_graph_id
ON rondel.session (hashtextextended(graph_id, 0), created_at, key);
CREATE INDEX session_by_graph ON rondel.session (graph);
CREATE INDEX session_by_parent ON rondel.session (parent) WHERE parent IS NOT NULL;

-- Where each session's ticks end, and who drives it: small rows that are changed in place, with
-- room left for it. An append is a compare-and-swap on `length` and `owner`, so a gap, a double or
-- a second driver is impossible. Times are those of the database's own clock.
CREATE TABLE rondel.head (
    session bigint PRIMARY KEY,
    length bigint NOT NULL,
    owner text COLLATE "C",
    until double precision
) WITH (fillfactor = 70);

-- Whoever drives sessions has one row here, and prolongs all its leases by prolonging that.
CREATE TABLE rondel.driver (
    owner text COLLATE "C" PRIMARY KEY,
    until double precision NOT NULL
) WITH (fillfactor = 70);

CREATE TABLE rondel.tick (
    session bigint NOT NULL,
    n bigint NOT NULL,
    record bytea NOT NULL,
    PRIMARY KEY (session, n)
);

-- Read once `replied_at` says when: it led to the tick, or was refused, or there was nothing to do.
CREATE TABLE rondel.letter (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session bigint NOT NULL,
    control bytea NOT NULL,
    posted_at double precision NOT NULL,
    tick bigint,
    refusal text COLLATE "C" NOT NULL DEFAULT '',
    replied_at double precision
);
CREATE INDEX letter_unread ON rondel.letter (session, number) WHERE replied_at IS NULL;
CREATE INDEX letter_of_session ON rondel.letter (session);
CREATE INDEX letter_read ON rondel.letter (replied_at) WHERE replied_at IS NOT NULL;

-- Packed with zlib.
CREATE TABLE rondel.snapshot (
    session bigint NOT NULL,
    n bigint NOT NULL,
    state bytea NOT NULL,
    PRIMARY KEY (session, n)
);
ALTER TABLE rondel.snapshot ALTER COLUMN state SET STORAGE EXTERNAL;

-- Working memory, by the hash of its group and of the step that an entry comes from.
CREATE TABLE rondel.memory (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    whose bytea NOT NULL,
    step bytea NOT NULL,
    number integer NOT NULL,
    own boolean NOT NULL,
    name text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    address text COLLATE "C" NOT NULL,
    node_id text COLLATE "C" NOT NULL,
    content bytea NOT NULL,
    data bytea NOT NULL,
    confidence double precision,
    created_at double precision NOT NULL,
    UNIQUE (whose, step, number)
);
CREATE INDEX memory_by_group ON rondel.memory (whose, id);

-- The files of messages, once each, by the SHA-256 of their bytes. Those that no session refers to
-- go with the next session that is deleted, unless they are held for one that is to start.
CREATE TABLE rondel.attachment (
    digest bytea PRIMARY KEY,
    content bytea NOT NULL
);
ALTER TABLE rondel.attachment ALTER COLUMN content SET STORAGE EXTERNAL;
CREATE TABLE rondel.attachment_hold (
    digest bytea PRIMARY KEY,
    until double precision NOT NULL
);
CREATE TABLE rondel.attachment_use (
    session bigint NOT NULL,
    digest bytea NOT NULL,
    PRIMARY KEY (session, digest)
);
CREATE INDEX attachment_use_by_digest ON rondel.attachment_use (digest);

-- The seconds since the epoch by the database's clock, which all leases go by.
CREATE FUNCTION rondel.now() RETURNS double precision LANGUAGE sql VOLATILE
AS 'SELECT extract(epoch FROM clock_timestamp())::double precision';
