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
