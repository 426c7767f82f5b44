SELECT story_id, uuid, phase, base_commit, run_no, fence FROM work_items
 WHERE repo_id = %(repo)s::bigint AND phase IN ('done', 'cancelled')
   AND updated_at < now() - make_interval(secs => %(seconds)s::float8)
 ORDER BY updated_at DESC LIMIT 1000
