SELECT test, job, times, first_seen, last_seen, last_sha FROM flaky_tests WHERE project_id = %(project)s::bigint
 ORDER BY last_seen DESC, job, test LIMIT %(limit)s::integer
