SELECT release_repo(%(project)s::bigint, %(repo)s::bigint) AS ended
