-- The numbered stream of events.

-- name: publish_events
SELECT publish_events(%(most)s::int) AS numbered;

-- name: stream_tail
-- After which number the newest `limit` events of a project (of one item) come.
SELECT coalesce(min(seq) - 1, (SELECT last_seq FROM stream)) AS after FROM (
    SELECT n.seq FROM event_numbers n JOIN events_outbox e ON e.id = n.event_id
     WHERE e.project_id = %(project)s::bigint AND (%(item)s::bigint IS NULL OR e.item_id = %(item)s::bigint)
     ORDER BY n.seq DESC LIMIT %(limit)s::int) newest;

-- name: view_stream
-- The next events of the stream, of all projects: who follows one passes over the others.
SELECT n.seq, e.id, e.created_at, e.project_id, e.item_id, e.kind, e.body, i.story_id
  FROM (SELECT seq, event_id FROM event_numbers WHERE seq > %(after)s::bigint ORDER BY seq LIMIT %(limit)s::int) n
  JOIN events_outbox e ON e.id = n.event_id
  LEFT JOIN work_items i ON i.id = e.item_id
 ORDER BY n.seq;
