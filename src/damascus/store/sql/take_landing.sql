SELECT take_landing(%(repo)s::bigint, %(target)s::text, %(item)s::bigint) AS taken
