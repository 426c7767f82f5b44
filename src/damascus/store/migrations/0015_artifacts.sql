-- What the steps of a story leave for people and for later steps, by name and version. Files on disk are a projection.
-- readable by: 9

CREATE TABLE artifacts (
    item_id bigint NOT NULL REFERENCES work_items (id),
    -- as in the run folder: build/test_critique.md
    name text NOT NULL,
    version integer NOT NULL,
    run_no integer NOT NULL,
    step text NOT NULL,
    sha256 text NOT NULL,
    content bytea NOT NULL,
    made_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (item_id, name, version),
    CONSTRAINT artifacts_are_named_below_the_run CHECK (name ~ '^(signal|plan|build)/[A-Za-z0-9_][A-Za-z0-9_./-]*$' AND name !~ '\.\.'),
    CONSTRAINT artifacts_are_capped CHECK (octet_length(content) <= 2000000),
    CONSTRAINT artifacts_version_from_one CHECK (version >= 1)
);

COMMENT ON CONSTRAINT artifacts_are_named_below_the_run ON artifacts IS 'A name that leads out of the run folder is nobody''s artifact.';
COMMENT ON CONSTRAINT artifacts_are_capped ON artifacts IS 'Longer than anybody would read.';
COMMENT ON CONSTRAINT artifacts_version_from_one ON artifacts IS 'Versions are counted from one, without a gap, by whoever writes the next.';
