-- What a trace is made of: how a story's run ended, what happened before, and its steps.

-- name: stories_at_rest
-- Transitions into a phase in which nothing is done about a story, in the order of the stream; `before` is the one before it.
SELECT n.seq, e.id AS event, e.item_id, e.created_at AS ended_at, e.body ->> 'to' AS phase, i.story_id, i.uuid, i.merged_commit, i.attempts,
       (SELECT max(b.id) FROM events_outbox b WHERE b.item_id = e.item_id AND b.id < e.id AND b.kind = 'phase.transitioned'
           AND b.body ->> 'to' IN ('done', 'blocked', 'stale', 'cancelled')) AS before
  FROM event_numbers n JOIN events_outbox e ON e.id = n.event_id JOIN work_items i ON i.id = e.item_id
 WHERE n.seq > %(after)s::bigint AND n.seq <= %(upto)s::bigint AND e.project_id = %(project)s::bigint
   AND e.kind = 'phase.transitioned' AND e.body ->> 'to' IN ('done', 'blocked', 'cancelled')
 ORDER BY n.seq LIMIT %(most)s::int;

-- name: events_of_stretch
-- Of one item, after one of its events up to another.
SELECT id, kind, body, created_at FROM events_outbox
 WHERE item_id = %(item)s::bigint AND id > coalesce(%(before)s::bigint, 0) AND id <= %(event)s::bigint ORDER BY id;

-- name: steps_of_stretch
-- That were begun before its end, and not done before its beginning.
SELECT run_no, phase, step, key, status, started_at, done_at, input ->> 'role' AS role, output FROM journal
 WHERE item_id = %(item)s::bigint AND started_at <= %(ended)s::timestamptz
   AND (done_at IS NULL OR done_at > coalesce((SELECT created_at FROM events_outbox WHERE id = %(before)s::bigint), '-infinity'))
 ORDER BY started_at, step, key;
