SELECT queue_mark(%(item)s::bigint, %(commit)s::text, %(state)s::text)
