SELECT pg_advisory_xact_lock(hashtextextended('agents of a project', %(project)s::bigint))
