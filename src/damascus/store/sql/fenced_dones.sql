SELECT fenced_dones(%(item)s::bigint, %(fence)s::bigint, %(run)s::int, %(phase)s::text, %(project)s::bigint, %(dones)s::jsonb)
