-- How many ready items are claimed before this one.
SELECT count(*) AS n FROM work_items w, work_items me
 WHERE me.id = %(item)s::bigint AND w.project_id = me.project_id AND w.state = 'ready'
   AND (w.deadline_at, w.id) < (me.deadline_at, me.id)
