-- What servers keep besides sessions; all servers of this database share it. Tokens and logins are
-- kept as hashes. A secret's group is '' where it is everybody's.
CREATE TABLE rondel.token (
    name text COLLATE "C" PRIMARY KEY,
    hash text COLLATE "C" NOT NULL UNIQUE,
    role text COLLATE "C" NOT NULL,
    groups text COLLATE "C",
    created_at double precision NOT NULL,
    revoked_at double precision
);
CREATE TABLE rondel.login (
    hash text COLLATE "C" PRIMARY KEY,
    token text COLLATE "C" NOT NULL REFERENCES rondel.token (name),
    until double precision NOT NULL
);
CREATE TABLE rondel.secret (
    grp text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL,
    PRIMARY KEY (grp, name)
);
CREATE TABLE rondel.webhook (
    id text COLLATE "C" PRIMARY KEY,
    url text COLLATE "C" NOT NULL,
    secret text COLLATE "C" NOT NULL,
    events text COLLATE "C" NOT NULL,
    groups text COLLATE "C",
    created_at double precision NOT NULL
);

-- `due` is also the lease: whoever sends moves it on first, and who finds it passed sends again.
CREATE TABLE rondel.delivery (
    id text COLLATE "C" PRIMARY KEY,
    webhook text COLLATE "C" NOT NULL,
    body bytea NOT NULL,
    created_at double precision NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    due double precision,
    status text COLLATE "C" NOT NULL,
    note text COLLATE "C" NOT NULL
);
CREATE INDEX delivery_due ON rondel.delivery (due) WHERE due IS NOT NULL;
CREATE INDEX delivery_of_webhook ON rondel.delivery (webhook, created_at);

CREATE TABLE rondel.insight (
    session text COLLATE "C" PRIMARY KEY,
    graph text COLLATE "C" NOT NULL,
    grp text COLLATE "C",
    length bigint NOT NULL,
    created_at double precision NOT NULL,
    facts bytea NOT NULL
);
CREATE INDEX insight_graph ON rondel.insight USING hash (graph);
CREATE TABLE rondel.reply (
    key text COLLATE "C" PRIMARY KEY,
    digest text COLLATE "C" NOT NULL,
    created_at double precision NOT NULL,
    status integer,
    headers text COLLATE "C",
    body bytea
);

-- What is to be told of sessions: written with the change itself, so nothing is lost whoever
-- drives a session and whenever that process dies. Without webhooks nothing is written.
CREATE TABLE rondel.news (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    reason text COLLATE "C" NOT NULL,
    at double precision NOT NULL
);
CREATE FUNCTION rondel.tell_news() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM rondel.webhook) THEN
        INSERT INTO rondel.news (session, status, reason, at)
        VALUES (NEW.id, NEW.status, NEW.reason, NEW.updated_at);
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER session_news AFTER UPDATE OF status ON rondel.session
FOR EACH ROW
WHEN (NEW.status IN ('waiting', 'suspended_locked', 'bounded', 'failed', 'completed'))
EXECUTE FUNCTION rondel.tell_news();
