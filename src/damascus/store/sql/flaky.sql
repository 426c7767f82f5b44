-- Quarantined tests.

-- name: flaky_record
INSERT INTO flaky_tests (project_id, repo_id, job, test, last_sha)
SELECT %(project)s::bigint, %(repo)s::bigint, t ->> 'job', t ->> 'test', %(sha)s::text
  FROM jsonb_array_elements(%(tests)s::jsonb) t ORDER BY 3, 4
ON CONFLICT (repo_id, job, test) DO UPDATE
   SET times = flaky_tests.times + 1, last_seen = now(), last_sha = excluded.last_sha
 WHERE flaky_tests.last_sha <> excluded.last_sha;

-- name: flaky_quarantined
-- A test that has not been flaky for a month has been mended: it is judged as every other again.
SELECT DISTINCT test FROM flaky_tests
 WHERE repo_id = %(repo)s::bigint AND test <> '' AND last_seen > now() - interval '30 days';

-- name: view_flaky
SELECT test, job, times, first_seen, last_seen, last_sha FROM flaky_tests WHERE project_id = %(project)s::bigint
 ORDER BY last_seen DESC, job, test LIMIT %(limit)s::integer;
