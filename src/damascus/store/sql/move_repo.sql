UPDATE repos SET path = %(path)s::text, main_branch = %(main_branch)s::text, main_sha = coalesce(%(main_sha)s::text, main_sha)
 WHERE id = %(repo)s::bigint
