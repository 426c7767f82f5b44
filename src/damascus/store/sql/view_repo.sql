-- The repository that an item belongs to, and the one that it waits for.
SELECT i.repo_id, coalesce(r.name, p.name) AS name, r.max_workers, coalesce(u.name, p.name) AS upstream, u.ci_state, u.ci_sha, u.ci_text,
       u.red_since
  FROM work_items i JOIN repos r ON r.id = i.repo_id JOIN projects p ON p.id = i.project_id
  LEFT JOIN repos u ON u.id = CASE WHEN i.wait_kind = 'upstream' THEN i.wait_key::bigint END
 WHERE i.id = %(item)s::bigint
