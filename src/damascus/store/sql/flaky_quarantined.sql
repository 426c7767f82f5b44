-- A test that has not been flaky for a month has been mended: it is judged as every other again.
SELECT DISTINCT test FROM flaky_tests
 WHERE repo_id = %(repo)s::bigint AND test <> '' AND last_seen > now() - interval '30 days'
