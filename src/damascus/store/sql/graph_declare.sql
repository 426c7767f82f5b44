UPDATE repos SET name = %(name)s::text, max_workers = %(max_workers)s::int WHERE id = %(repo)s::bigint
