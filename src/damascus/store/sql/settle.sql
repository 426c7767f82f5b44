-- What a worker writes of the item that it holds, under the fence.

-- name: settle_item
-- A milestone counts once its line was published.
SELECT s.*, (SELECT w.milestone FROM worker_records w WHERE w.item_id = s.id AND w.line IS NOT NULL) AS milestone
  FROM settle_item(%(item)s::bigint, %(fence)s::bigint, %(columns)s::jsonb, %(spec)s::bytea, %(spans)s::scope_span[]) s;

-- name: settle_and_leave
-- As settle_item; who leaves the item needs no row of it.
SELECT FROM settle_item(%(item)s::bigint, %(fence)s::bigint, %(columns)s::jsonb, %(spec)s::bytea, %(spans)s::scope_span[]);

-- name: correct_base
-- The claim copied repos.main_sha; `prepare` looked at the repository and corrects both under the fence.
WITH known AS (UPDATE repos SET main_sha = %(tip)s::text WHERE id = %(repo)s::bigint AND main_sha IS DISTINCT FROM %(tip)s::text)
UPDATE work_items SET base_commit = %(base)s::text WHERE id = %(item)s::bigint AND fence = %(fence)s::bigint;

-- name: set_pull
UPDATE work_items SET pr_url = %(pr_url)s::text, candidate = %(candidate)s::text, updated_at = now()
 WHERE id = %(item)s::bigint AND fence = %(fence)s::bigint;

-- name: restart_run
-- Another version of the script takes the item over: a new run, nothing charged. A landing that was begun may have moved main
-- already, so that the new run finds it in its journal. `fresh`: the phase begins with a milestone of its own.
WITH item AS (
    UPDATE work_items SET run_no = run_no + 1, updated_at = now()
     WHERE id = %(item)s::bigint AND fence = %(fence)s::bigint AND run_no = %(run)s::int RETURNING id, project_id),
begun AS (
    UPDATE journal j SET run_no = j.run_no + 1, input = j.input || jsonb_build_object('script', %(script)s::int)
      FROM item WHERE j.item_id = item.id AND j.run_no = %(run)s::int AND j.step = 'land'),
record AS (
    UPDATE worker_records w SET milestone = 'WORKING', line = NULL, step = NULL, progress = '{}', updated_at = now()
      FROM item WHERE w.item_id = item.id AND %(fresh)s::bool)
SELECT write_events(item.project_id, item.id, %(events)s::jsonb) FROM item;
