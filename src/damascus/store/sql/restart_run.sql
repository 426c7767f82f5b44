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
SELECT write_events(item.project_id, item.id, %(events)s::jsonb) FROM item
