-- Projects, repositories and the database itself.

-- name: queue_id
SELECT id FROM queue;

-- name: schema_version
SELECT max(version) AS version FROM schema_migrations;

-- name: add_project
-- Under the claim's lock: a claim that runs has made up its mind how many repositories there are.
WITH p AS (
    INSERT INTO projects (uuid, name) VALUES (%(uuid)s::uuid, %(name)s::text)
    ON CONFLICT (uuid) DO UPDATE SET name = projects.name RETURNING id),
alone AS MATERIALIZED (SELECT p.id, pg_advisory_xact_lock(hashtextextended('damascus claim', p.id)) FROM p)
INSERT INTO repos (project_id, uuid, name, path, main_branch, main_sha, joined)
SELECT a.id, %(repo)s::uuid, %(name)s::text, %(path)s::text, %(main_branch)s::text, %(main_sha)s::text,
       EXISTS (SELECT 1 FROM repos r WHERE r.project_id = a.id)
  FROM alone a
ON CONFLICT DO NOTHING;

-- name: find_project
-- Every repository of a project, its first one first. A name that a release before this one did not give is the project's.
SELECT p.id, p.uuid, p.name, r.id AS repo_id, r.uuid AS repo_uuid, coalesce(r.name, p.name) AS repo, r.joined, r.path, r.main_branch,
       r.main_sha, r.max_workers, r.forge_kind, r.forge_url, r.forge_token_env
  FROM projects p JOIN repos r ON r.project_id = p.id WHERE p.uuid = %(uuid)s::uuid ORDER BY r.joined, r.id;

-- name: move_repo
UPDATE repos SET path = %(path)s::text, main_branch = %(main_branch)s::text, main_sha = coalesce(%(main_sha)s::text, main_sha)
 WHERE id = %(repo)s::bigint;

-- name: set_forge
UPDATE repos SET forge_kind = %(kind)s::text, forge_url = %(url)s::text, forge_token_env = %(token_env)s::text
 WHERE id = %(repo)s::bigint;

-- name: on_forges
-- The projects whose repositories live on a forge, by their uuids, and what they are called.
SELECT DISTINCT p.uuid, p.name FROM projects p JOIN repos r ON r.project_id = p.id WHERE r.forge_url IS NOT NULL
 ORDER BY p.name, p.uuid;

-- name: stories_of
SELECT count(*) AS n FROM work_items i JOIN projects p ON p.id = i.project_id WHERE p.uuid = %(uuid)s::uuid;

-- name: forget_repos
DELETE FROM repos r USING projects p WHERE p.id = r.project_id AND p.uuid = %(uuid)s::uuid;

-- name: repository_places
SELECT path FROM repos ORDER BY id;

-- name: count_stories
SELECT count(*) AS n FROM work_items;

-- name: other_projects
-- Those that share the installation, by name.
SELECT name FROM projects WHERE id <> %(project)s::bigint ORDER BY name, id;
