-- Passes of judged runs, kept for review, queue, a re-run and other hosts. A failure is never kept: it runs again.
-- readable by: 9

CREATE TABLE evidence (
    -- of tree, command, environment and gate version
    key text PRIMARY KEY,
    repo_id bigint NOT NULL REFERENCES repos (id) ON DELETE CASCADE,
    tree text NOT NULL,
    command text NOT NULL,
    environment text NOT NULL,
    gate_version text NOT NULL,
    -- the whole run, with every test that its runners reported
    result jsonb NOT NULL,
    made_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT evidence_is_a_pass CHECK ((result -> 'exit_code') = '0'::jsonb AND (result -> 'timed_out') = 'false'::jsonb),
    CONSTRAINT evidence_key_is_a_hash CHECK (key ~ '^[0-9a-f]{64}$')
);
CREATE INDEX evidence_by_age ON evidence (made_at);
CREATE INDEX evidence_of_repo ON evidence (repo_id);

-- The highest number of an event that was removed by age: whoever follows from before it is told so.
ALTER TABLE stream ADD COLUMN pruned bigint NOT NULL DEFAULT 0;

COMMENT ON CONSTRAINT evidence_is_a_pass ON evidence IS 'Only a pass is kept; whatever failed is run again.';
COMMENT ON CONSTRAINT evidence_key_is_a_hash ON evidence IS 'One key for one pass: a second run of the same finds the first.';
