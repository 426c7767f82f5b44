-- Tests that failed and then passed on the same commit: quarantined by name, and reported.
-- readable by: 7

CREATE TABLE flaky_tests (
    project_id bigint NOT NULL REFERENCES projects (id),
    repo_id bigint NOT NULL REFERENCES repos (id),
    job text NOT NULL,
    -- '': the log named none
    test text NOT NULL,
    first_seen timestamptz NOT NULL DEFAULT now(),
    last_seen timestamptz NOT NULL DEFAULT now(),
    times integer NOT NULL DEFAULT 1,
    last_sha text NOT NULL,
    PRIMARY KEY (repo_id, job, test)
);
CREATE INDEX flaky_tests_of_project ON flaky_tests (project_id, last_seen);
