-- As if it had not been judged: who depends on it goes on waiting, and if it is red again that is news.
UPDATE repos SET ci_state = 'pending', ci_sha = NULL, red_since = NULL WHERE id = %(repo)s::bigint AND ci_state IS NOT NULL
