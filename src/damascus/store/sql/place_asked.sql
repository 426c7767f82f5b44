SELECT id FROM human_issues WHERE project_id = %(project)s::bigint AND closed_at IS NULL
   AND about -> 'repo' = to_jsonb(%(repo)s::bigint) AND about ->> 'about' = 'place'
