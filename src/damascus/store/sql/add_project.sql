WITH p AS (
    INSERT INTO projects (uuid, name) VALUES (%(uuid)s::uuid, %(name)s::text)
    ON CONFLICT (uuid) DO UPDATE SET name = excluded.name RETURNING id)
INSERT INTO repos (project_id, path, main_branch, main_sha)
SELECT p.id, %(path)s::text, %(main_branch)s::text, %(main_sha)s::text FROM p
ON CONFLICT (project_id, path) DO UPDATE SET main_branch = excluded.main_branch, main_sha = excluded.main_sha
RETURNING project_id, id AS repo_id
