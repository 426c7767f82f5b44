SELECT pg_advisory_unlock(hashtextextended('damascus cascade', %(repo)s::bigint))
