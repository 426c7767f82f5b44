-- The window: what was spent today is asked for on every page, who acts leaves a line,
-- who has read how far in the stream of events, what was counted there, what is told outside.
-- readable by: 9
CREATE INDEX spending_since ON spending (project_id, at);

-- Who did what by the window or by a token: a line is written before anything is done, its outcome afterwards.
CREATE TABLE audit (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id bigint NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    at timestamptz NOT NULL DEFAULT now(),
    who text NOT NULL,
    by text NOT NULL,
    act text NOT NULL,
    target text NOT NULL,
    origin text NOT NULL,
    outcome text NOT NULL DEFAULT 'begun'
);
CREATE INDEX audit_of_project ON audit (project_id, id);

-- ── tokens: what a program shows instead of a browser's cookie ────────────────────────────────────────
CREATE TABLE tokens (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id bigint NOT NULL REFERENCES projects (id),
    name text NOT NULL,
    scope text NOT NULL,
    -- of the secret half; the token itself is shown once and kept nowhere
    sha256 text NOT NULL,
    made_by text NOT NULL,
    made_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    revoked_at timestamptz,
    CONSTRAINT tokens_scope_check CHECK (scope IN ('read', 'act')),
    CONSTRAINT tokens_keep_a_hash CHECK (sha256 ~ '^[0-9a-f]{64}$')
);
COMMENT ON CONSTRAINT tokens_scope_check ON tokens IS
$$read: may look at everything
act: may also answer, retry, cancel and add$$;
COMMENT ON CONSTRAINT tokens_keep_a_hash ON tokens IS 'Who reads this table learns no token.';
CREATE INDEX tokens_of_project ON tokens (project_id, id);

-- ── a page of stories, newest first, of all phases or of some, without counting or sorting ────────────
CREATE INDEX work_items_listed ON work_items (project_id, phase, id);

-- Stories by state and phase, changed last first: what a page of the window walks along. It does what work_items_resting did, too.
CREATE INDEX work_items_changed ON work_items (project_id, state, phase, updated_at, id);
DROP INDEX work_items_resting;
-- Why attempts were sent back.
CREATE INDEX events_of_rejections ON events_outbox (project_id, id) WHERE kind = 'attempt.rejected';

-- ── readers of the stream that begin where the last one of them ended ─────────────────────────────────
CREATE TABLE stream_cursors (
    project_id bigint NOT NULL REFERENCES projects (id),
    reader text NOT NULL,
    seq bigint NOT NULL,
    -- somebody is at it, until then at the latest
    taken_until timestamptz,
    PRIMARY KEY (project_id, reader),
    CONSTRAINT stream_cursors_reader_check CHECK (reader IN ('notifier', 'counter', 'tracer'))
);
COMMENT ON CONSTRAINT stream_cursors_reader_check ON stream_cursors IS
$$notifier: makes notices of events
counter: counts events, for metrics
tracer: sends a trace of each story that came to rest$$;

-- ── events that were counted, so that nobody counts history again ─────────────────────────────────────
CREATE TABLE event_counts (
    project_id bigint NOT NULL REFERENCES projects (id),
    kind text NOT NULL,
    -- the verdict of a rejected attempt; '' for all others
    word text NOT NULL DEFAULT '',
    n bigint NOT NULL,
    PRIMARY KEY (project_id, kind, word)
);

-- ── messages to people, one row for each target: sent at least once, known by first and last event ────
CREATE TABLE notices (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id bigint NOT NULL REFERENCES projects (id),
    target text NOT NULL,
    first_seq bigint NOT NULL,
    last_seq bigint NOT NULL,
    title text NOT NULL,
    lines jsonb NOT NULL,
    made_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    not_before timestamptz NOT NULL DEFAULT clock_timestamp(),
    tries integer NOT NULL DEFAULT 0,
    taken_until timestamptz,
    sent_at timestamptz,
    given_up_at timestamptz,
    error text,
    UNIQUE (project_id, target, last_seq),
    CONSTRAINT notices_target_check CHECK (target IN ('command', 'webhook', 'desktop')),
    CONSTRAINT notices_end_once CHECK (sent_at IS NULL OR given_up_at IS NULL)
);
CREATE INDEX notices_unsent ON notices (project_id, id) WHERE sent_at IS NULL AND given_up_at IS NULL;
COMMENT ON CONSTRAINT notices_target_check ON notices IS
$$command: a command of [notify], the message on its stdin
webhook: an address that a variable holds
desktop: notify-send$$;
COMMENT ON CONSTRAINT notices_end_once ON notices IS 'What was sent is not given up.';
