-- The claim copied repos.main_sha; `prepare` looked at the repository and corrects both under the fence.
WITH known AS (UPDATE repos SET main_sha = %(tip)s::text WHERE id = %(repo)s::bigint AND main_sha IS DISTINCT FROM %(tip)s::text)
UPDATE work_items SET base_commit = %(base)s::text WHERE id = %(item)s::bigint AND fence = %(fence)s::bigint
