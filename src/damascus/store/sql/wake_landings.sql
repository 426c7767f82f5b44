-- A worker that starts looks at once whether the files that held landings are out of the way.
UPDATE work_items SET not_before = now()
 WHERE project_id = %(project)s::bigint AND repo_id = ANY (%(repos)s::bigint[]) AND state = 'waiting' AND wait_kind = 'dirty'
   AND not_before > now()
