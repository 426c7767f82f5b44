-- A page of a project's stories (store/listing.py): a short walk along one index for each phase, nothing counted.

-- name: list_items
SELECT l.id
  FROM unnest(%(phases)s::text[]) AS p(phase),
       -- as a range of work_items_listed: by equality the planner would walk all ids for a phase that nobody is in
       LATERAL (SELECT id FROM work_items
                 WHERE (project_id, phase, id) < (%(project)s::bigint, p.phase, %(before)s::bigint)
                   AND (project_id, phase, id) > (%(project)s::bigint, p.phase, 0)
                 ORDER BY project_id DESC, phase DESC, id DESC LIMIT %(limit)s::int) l
 ORDER BY l.id DESC LIMIT %(limit)s::int;

-- name: list_waiting
-- Only those that wait for one thing: as many rows as wait for it are looked at, never what is finished.
SELECT id FROM work_items
 WHERE project_id = %(project)s::bigint AND state = 'waiting' AND wait_kind = %(wait)s::text
   AND phase = ANY (%(phases)s::text[]) AND id < %(before)s::bigint
 ORDER BY id DESC LIMIT %(limit)s::int;

-- name: queues_of_project
SELECT coalesce(r.name, p.name) AS repo, q.target, q.width, e.base, e.commit, e.state, e.entered_at, i.story_id, i.title
  FROM repos r JOIN projects p ON p.id = r.project_id JOIN queues q ON q.repo_id = r.id
  LEFT JOIN queue_entries e ON e.repo_id = q.repo_id AND e.target = q.target
  LEFT JOIN work_items i ON i.id = e.item_id
 WHERE r.project_id = %(project)s::bigint ORDER BY r.id, q.target, e.pos LIMIT %(limit)s::int;

-- name: stream_of_item
SELECT n.seq, e.id, e.created_at, e.project_id, e.item_id, e.kind, e.body, i.story_id
  FROM events_outbox e JOIN event_numbers n ON n.event_id = e.id JOIN work_items i ON i.id = e.item_id
 WHERE e.item_id = %(item)s::bigint AND n.seq > %(after)s::bigint ORDER BY n.seq LIMIT %(limit)s::int;
