-- The window: what was spent today is asked for on every page, and who acts leaves a line.
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
