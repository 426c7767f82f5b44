INSERT INTO flaky_tests (project_id, repo_id, job, test, last_sha)
SELECT %(project)s::bigint, %(repo)s::bigint, t ->> 'job', t ->> 'test', %(sha)s::text
  FROM jsonb_array_elements(%(tests)s::jsonb) t ORDER BY 3, 4
ON CONFLICT (repo_id, job, test) DO UPDATE
   SET times = flaky_tests.times + 1, last_seen = now(), last_sha = excluded.last_sha
 WHERE flaky_tests.last_sha <> excluded.last_sha
