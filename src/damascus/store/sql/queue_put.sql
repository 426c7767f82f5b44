SELECT queue_put(%(repo)s::bigint, %(target)s::text, %(item)s::bigint, %(base)s::text, %(commit)s::text, %(state)s::text,
                 %(most)s::int) AS answer
