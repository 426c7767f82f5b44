-- The claim's lock: nobody claims while the graph changes.
SELECT pg_advisory_xact_lock(hashtextextended('damascus claim', %(project)s::bigint))
