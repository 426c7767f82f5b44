-- The repositories of a project as the graph knows them.
SELECT r.id, r.uuid, coalesce(r.name, p.name) AS name, r.joined, r.path, r.main_branch, r.main_sha, r.max_workers, r.ci_state, r.ci_sha,
       r.ci_with, r.ci_text, r.green_sha, r.green_with, r.red_since
  FROM repos r JOIN projects p ON p.id = r.project_id WHERE r.project_id = %(project)s::bigint ORDER BY r.id
