SELECT pg_advisory_xact_lock(hashtextextended('damascus.place', %(repo)s::bigint))
