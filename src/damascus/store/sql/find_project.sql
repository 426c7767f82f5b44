SELECT p.id, p.uuid, p.name, r.id AS repo_id, r.path, r.main_branch, r.main_sha FROM projects p JOIN repos r ON r.project_id = p.id
 WHERE p.uuid = %(uuid)s::uuid
