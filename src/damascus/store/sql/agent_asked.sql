-- The open question of a project whose agents can't work.
SELECT id, about FROM human_issues WHERE project_id = %(project)s::bigint AND closed_at IS NULL AND about ->> 'about' = 'agent'
