SELECT write_events(%(project)s::bigint, %(item)s::bigint, %(events)s::jsonb)
