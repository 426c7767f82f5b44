-- Every repository of a project, its first one first. A name that a release before this one did not give is the project's.
SELECT p.id, p.uuid, p.name, r.id AS repo_id, r.uuid AS repo_uuid, coalesce(r.name, p.name) AS repo, r.joined, r.path, r.main_branch,
       r.main_sha, r.max_workers, r.forge_kind, r.forge_url, r.forge_token_env
  FROM projects p JOIN repos r ON r.project_id = p.id WHERE p.uuid = %(uuid)s::uuid ORDER BY r.joined, r.id
