SELECT n.seq, e.id, e.created_at, e.kind, e.body, i.story_id
  FROM (SELECT * FROM events_outbox
         WHERE project_id = %(project)s::bigint AND (%(item)s::bigint IS NULL OR item_id = %(item)s::bigint)
         ORDER BY id DESC LIMIT %(limit)s::int) e
  LEFT JOIN event_numbers n ON n.event_id = e.id
  LEFT JOIN work_items i ON i.id = e.item_id
 ORDER BY e.id
