-- Held by the session: one process at a time runs the tests of a repository's main.
SELECT pg_try_advisory_lock(hashtextextended('damascus cascade', %(repo)s::bigint)) AS got
