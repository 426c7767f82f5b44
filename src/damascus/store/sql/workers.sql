-- The processes that claim, and how far each item is.

-- name: register_worker
INSERT INTO workers (id, project_id, host, pid, slots, confinement)
VALUES (%(id)s::text, %(project)s::bigint, %(host)s::text, %(pid)s::int, %(slots)s::int, %(confinement)s::text)
ON CONFLICT (id) DO UPDATE SET slots = excluded.slots, confinement = excluded.confinement, ended_at = NULL,
    trouble = NULL;

-- name: end_worker
UPDATE workers SET ended_at = now() WHERE id = %(id)s::text;

-- name: worker_repos
UPDATE workers SET repos = %(repos)s::bigint[] WHERE id = %(id)s::text;

-- name: movable
-- Can anything of this project still move without a person? Waits with a wake-up are waited for (but those for a file or a secret of a
-- person's), and CI of a main that others depend on. Only who has a repository can move what is ready there.
SELECT EXISTS (SELECT 1 FROM work_items WHERE project_id = %(project)s::bigint AND state = 'leased')
    OR EXISTS (SELECT 1 FROM work_items WHERE project_id = %(project)s::bigint AND state = 'ready'
                  AND repo_id = ANY (%(repos)s::bigint[]))
    OR EXISTS (SELECT 1 FROM work_items WHERE project_id = %(project)s::bigint AND state = 'waiting'
                  AND wait_kind NOT IN ('dirty', 'secret')
                  AND (not_before IS NOT NULL OR wait_kind = 'landing' OR (wait_kind = 'agent' AND NOT EXISTS (
                      SELECT 1 FROM human_issues h WHERE h.project_id = %(project)s::bigint AND h.closed_at IS NULL
                         AND h.about ->> 'about' = 'agent'))))
    OR EXISTS (SELECT 1 FROM repos r WHERE r.id = ANY (%(repos)s::bigint[]) AND r.ci_state = 'pending' AND NOT EXISTS (
                   SELECT 1 FROM chain_of(r.id) c JOIN repos u ON u.id = c.repo_id WHERE c.above AND u.ci_state = 'red')) AS movable;

-- name: worker_record
UPDATE worker_records SET step = coalesce(%(step)s::text, step), substate = coalesce(%(substate)s::text, substate),
       milestone = coalesce(%(milestone)s::text, milestone), line = coalesce(%(line)s::text, line),
       progress = progress || coalesce(%(progress)s::jsonb, '{}'),
       since = CASE WHEN %(milestone)s::text IS NULL THEN since ELSE now() END, updated_at = now()
 WHERE item_id = %(item)s::bigint;

-- name: drop_worker_record
DELETE FROM worker_records WHERE item_id = %(item)s::bigint;

-- name: tell_steps
-- By whoever still holds the lease: a worker that woke up late must not tell of its own old step.
UPDATE worker_records w SET step = n.step, updated_at = now()
  FROM unnest(%(items)s::bigint[], %(fences)s::bigint[], %(steps)s::text[]) AS n(item_id, fence, step)
  JOIN leases l ON l.item_id = n.item_id AND l.fence = n.fence
 WHERE w.item_id = n.item_id;

-- name: tell_trouble
-- A service of a worker that fails again and again; the database's clock says since when.
UPDATE workers
   SET trouble = coalesce(trouble, '{}') || jsonb_build_object(%(service)s::text, jsonb_build_object(
           'failures', %(failures)s::int, 'cause', %(cause)s::text, 'log', %(log)s::text,
           'since', clock_timestamp() - make_interval(secs => %(seconds)s::float8)))
 WHERE id = %(worker)s::text;

-- name: end_trouble
-- It works again.
UPDATE workers SET trouble = nullif(trouble - %(service)s::text, '{}') WHERE id = %(worker)s::text;
