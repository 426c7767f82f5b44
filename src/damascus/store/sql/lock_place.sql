SELECT pg_advisory_xact_lock(hashtextextended('place of a repository', %(repo)s::bigint))
