-- The files of messages, once each, by the SHA-256 of their bytes. Those that no session refers to
-- go with the next session that is deleted, unless they are held for one that is to start; that
-- is noted beside them, since a change of a row would write its bytes again.
CREATE TABLE attachment (
    digest BLOB NOT NULL UNIQUE,
    content BLOB NOT NULL
);
CREATE TABLE attachment_hold (
    digest BLOB PRIMARY KEY,
    until REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE attachment_use (
    session INTEGER NOT NULL,
    digest BLOB NOT NULL,
    PRIMARY KEY (session, digest)
) WITHOUT ROWID;
CREATE INDEX attachment_use_by_digest ON attachment_use (digest);
