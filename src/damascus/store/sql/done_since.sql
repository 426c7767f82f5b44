-- What became done since then, and those that are named.
SELECT story_id, merged_commit FROM work_items
 WHERE project_id = %(project)s::bigint AND repo_id = %(repo)s::bigint AND state = 'resting' AND phase = 'done'
   AND merged_commit IS NOT NULL AND updated_at >= coalesce(%(since)s::timestamptz, '-infinity')
UNION
SELECT story_id, merged_commit FROM work_items
 WHERE project_id = %(project)s::bigint AND repo_id = %(repo)s::bigint AND state = 'resting' AND phase = 'done'
   AND merged_commit IS NOT NULL AND lower(story_id) = ANY (%(names)s::text[])
