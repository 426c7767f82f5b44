-- Two steps that reserve from one project's budget do so one after the other.
SELECT pg_advisory_xact_lock(hashtextextended('damascus budget', %(project)s::bigint))
