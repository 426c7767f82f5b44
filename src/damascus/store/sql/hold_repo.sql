SELECT hold_repo(%(project)s::bigint, %(repo)s::bigint, %(reason)s::text) AS hold
