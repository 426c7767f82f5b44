-- Under the claim's lock: a claim that runs has made up its mind how many repositories there are.
WITH p AS (
    INSERT INTO projects (uuid, name) VALUES (%(uuid)s::uuid, %(name)s::text)
    ON CONFLICT (uuid) DO UPDATE SET name = projects.name RETURNING id),
alone AS MATERIALIZED (SELECT p.id, pg_advisory_xact_lock(hashtextextended('damascus claim', p.id)) FROM p)
INSERT INTO repos (project_id, uuid, name, path, main_branch, main_sha, joined)
SELECT a.id, %(repo)s::uuid, %(name)s::text, %(path)s::text, %(main_branch)s::text, %(main_sha)s::text,
       EXISTS (SELECT 1 FROM repos r WHERE r.project_id = a.id)
  FROM alone a
ON CONFLICT DO NOTHING
