-- The next claim copies it as its base.
UPDATE repos SET main_sha = %(tip)s::text WHERE id = %(repo)s::bigint
