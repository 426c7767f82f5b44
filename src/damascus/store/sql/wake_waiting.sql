UPDATE work_items SET not_before = now()
 WHERE project_id = %(project)s::bigint AND repo_id = %(repo)s::bigint AND state = 'waiting' AND wait_kind = 'backoff'
   AND not_before > now()
