UPDATE repos SET main_sha = %(sha)s::text WHERE id = %(repo)s::bigint AND main_sha IS DISTINCT FROM %(sha)s::text
