-- Who owns which file, by what each landed story changed.

-- name: owners_of
-- Landed stories that own one of these paths. One that is stale, built again or reverted promises nothing at present.
SELECT o.path, w.id, w.story_id, w.spec, w.spec_path FROM file_owners o JOIN work_items w ON w.id = o.item_id
 WHERE o.repo_id = %(repo)s::bigint AND o.path = ANY (%(paths)s::text[]) AND w.phase = 'done' ORDER BY w.id, o.path;

-- name: owners_all
-- Every landed story that owns a file.
SELECT o.path, w.id, w.story_id, w.spec, w.spec_path FROM file_owners o JOIN work_items w ON w.id = o.item_id
 WHERE o.repo_id = %(repo)s::bigint AND w.phase = 'done' ORDER BY w.id, o.path;

-- name: kin_of
-- Done stories that this one depends on and those that depend on it, through however many others; the latest first.
WITH RECURSIVE me AS (
    SELECT id, depends_on FROM work_items WHERE repo_id = %(repo)s::bigint AND lower(story_id) = lower(%(story)s::text)),
up AS (
    SELECT d.id, d.depends_on FROM me JOIN work_items d ON d.id = ANY (me.depends_on)
    UNION SELECT d.id, d.depends_on FROM up JOIN work_items d ON d.id = ANY (up.depends_on)),
down AS (
    SELECT w.id FROM me JOIN work_items w ON w.depends_on @> ARRAY[me.id]
    UNION SELECT w.id FROM down JOIN work_items w ON w.depends_on @> ARRAY[down.id])
SELECT w.id, w.story_id, w.spec, w.spec_path FROM work_items w
 WHERE w.id IN (SELECT id FROM up UNION SELECT id FROM down) AND w.id NOT IN (SELECT id FROM me)
   AND w.repo_id = %(repo)s::bigint AND w.phase = 'done' ORDER BY w.id DESC;

-- name: owner_map
-- Every path that a story landed, with the stories that did, the first one first.
SELECT o.path, array_agg(w.story_id ORDER BY w.id) AS stories FROM file_owners o JOIN work_items w ON w.id = o.item_id
 WHERE o.repo_id = %(repo)s::bigint GROUP BY o.path ORDER BY o.path;

-- name: owned_by
-- The paths of these stories, by name.
SELECT w.story_id, o.path FROM file_owners o JOIN work_items w ON w.id = o.item_id
 WHERE o.repo_id = %(repo)s::bigint AND lower(w.story_id) = ANY (%(names)s::text[]) ORDER BY w.id, o.path;

-- name: impact_alone
-- Held by the session: one process at a time looks at what came to a main.
SELECT pg_try_advisory_lock(hashtextextended('damascus impact', %(repo)s::bigint)) AS got;

-- name: impact_not_alone
SELECT pg_advisory_unlock(hashtextextended('damascus impact', %(repo)s::bigint));

-- name: impact_known
SELECT impact_sha AS sha FROM repos WHERE id = %(repo)s::bigint;

-- name: impact_note
UPDATE repos SET impact_sha = %(sha)s::text WHERE id = %(repo)s::bigint AND impact_sha IS DISTINCT FROM %(sha)s::text;

-- name: landed_commits
-- Which of these commits a story landed, and by which spec. One that has begun to land has told its commit before main moved.
SELECT w.merged_commit AS commit, w.spec, w.spec_path FROM work_items w
 WHERE w.repo_id = %(repo)s::bigint AND w.merged_commit = ANY (%(commits)s::text[])
UNION ALL
SELECT j.input ->> 'new', w.spec, w.spec_path FROM work_items w JOIN journal j ON j.item_id = w.id AND j.step = 'land'
 WHERE w.repo_id = %(repo)s::bigint AND w.phase = 'merge' AND j.input ->> 'new' = ANY (%(commits)s::text[]);

-- name: scopes_of
SELECT id, story_id, repo_id, file_scope FROM work_items
 WHERE project_id = %(project)s::bigint AND lower(story_id) = ANY (%(names)s::text[]);
