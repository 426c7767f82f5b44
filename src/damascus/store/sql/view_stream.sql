-- The next events of the stream, of all projects: who follows one passes over the others.
SELECT n.seq, e.id, e.created_at, e.project_id, e.item_id, e.kind, e.body, i.story_id
  FROM (SELECT seq, event_id FROM event_numbers WHERE seq > %(after)s::bigint ORDER BY seq LIMIT %(limit)s::int) n
  JOIN events_outbox e ON e.id = n.event_id
  LEFT JOIN work_items i ON i.id = e.item_id
 ORDER BY n.seq
