SELECT wait_for_landing(%(repo)s::bigint, %(target)s::text, %(item)s::bigint)
