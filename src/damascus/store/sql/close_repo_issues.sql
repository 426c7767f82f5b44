UPDATE human_issues SET answer = %(answer)s::text, closed_at = now()
 WHERE project_id = %(project)s::bigint AND closed_at IS NULL AND about -> 'repo' = to_jsonb(%(repo)s::bigint)
   AND about ->> 'about' = %(about)s::text
RETURNING id
