SELECT DISTINCT test FROM flaky_tests WHERE repo_id = %(repo)s::bigint AND test <> ''
