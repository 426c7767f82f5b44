-- What the pages of the window list: walks along an index that end after a page, whatever there is behind it.

-- name: stories_page
-- Changed last first, from a place on: one walk for each pair of state and phase. The other filters look at no more than `look`
-- stories; the last one looked at comes too, so that the next page goes on there.
WITH near AS MATERIALIZED (
    SELECT w.*, row_number() OVER (ORDER BY w.updated_at DESC, w.id DESC) AS n
      FROM unnest(%(states)s::text[], %(phases)s::text[]) AS k (state, phase)
     CROSS JOIN LATERAL (
        SELECT i.id, i.updated_at FROM work_items i
         WHERE i.project_id = %(project)s::bigint AND i.state = k.state AND i.phase = k.phase
           AND (i.updated_at, i.id) < (%(at)s::timestamptz, %(id)s::bigint)
         ORDER BY i.updated_at DESC, i.id DESC LIMIT %(look)s::int) w
     ORDER BY w.updated_at DESC, w.id DESC LIMIT %(look)s::int)
SELECT id, updated_at, hit, n = %(look)s::int AS last FROM (
    SELECT near.*, (%(text)s::text IS NULL OR position(lower(%(text)s::text) IN lower(i.story_id || ' ' || left(i.title, 1000))) > 0)
                   AND (%(verdict)s::text IS NULL OR i.last_verdict = %(verdict)s::text)
                   AND (%(repo)s::bigint IS NULL OR i.repo_id = %(repo)s::bigint) AS hit
      FROM near JOIN work_items i ON i.id = near.id) seen
 WHERE hit OR n = %(look)s::int ORDER BY n LIMIT %(limit)s::int;

-- name: any_story
SELECT id FROM work_items WHERE project_id = %(project)s::bigint LIMIT 1;

-- name: events_down
-- Of a project, between two numbers, the newest first: the walk ends with the page. It goes by the numbers (OFFSET keeps the planner from
-- reading every event for one of a rare kind).
SELECT f.*, i.story_id FROM (
    SELECT n.seq, e.* FROM event_numbers n
     CROSS JOIN LATERAL (SELECT o.id, o.created_at, o.kind, o.body, o.item_id FROM events_outbox o
                          WHERE o.id = n.event_id AND o.project_id = %(project)s::bigint
                            AND (%(kind)s::text IS NULL OR o.kind = %(kind)s::text) OFFSET 0) e
     WHERE n.seq >= %(low)s::bigint AND n.seq < %(high)s::bigint
     ORDER BY n.seq DESC LIMIT %(limit)s::int) f LEFT JOIN work_items i ON i.id = f.item_id ORDER BY f.seq DESC;

-- name: events_up
SELECT f.*, i.story_id FROM (
    SELECT n.seq, e.* FROM event_numbers n
     CROSS JOIN LATERAL (SELECT o.id, o.created_at, o.kind, o.body, o.item_id FROM events_outbox o
                          WHERE o.id = n.event_id AND o.project_id = %(project)s::bigint
                            AND (%(kind)s::text IS NULL OR o.kind = %(kind)s::text) OFFSET 0) e
     WHERE n.seq >= %(low)s::bigint AND n.seq < %(high)s::bigint
     ORDER BY n.seq LIMIT %(limit)s::int) f LEFT JOIN work_items i ON i.id = f.item_id ORDER BY f.seq;

-- name: events_of_story
SELECT n.seq, e.id, e.created_at, e.kind, e.body, i.story_id
  FROM events_outbox e JOIN event_numbers n ON n.event_id = e.id JOIN work_items i ON i.id = e.item_id
 WHERE e.item_id = %(item)s::bigint AND n.seq >= %(low)s::bigint AND n.seq < %(high)s::bigint
   AND (%(kind)s::text IS NULL OR e.kind = %(kind)s::text)
 ORDER BY CASE WHEN %(upward)s::bool THEN n.seq ELSE -n.seq END LIMIT %(limit)s::int;

-- name: stream_ends
SELECT last_seq, pruned FROM stream;

-- name: leases_of_project
-- Who works on what at this moment, and how far it is.
SELECT l.worker_id, l.acquired_at, l.expires_at, l.expires_at < clock_timestamp() AS expired, i.story_id, i.title, i.phase,
       r.milestone, r.step, r.substate, r.line, r.since, coalesce(p.name, '') AS repo
  FROM work_items i JOIN leases l ON l.item_id = i.id JOIN repos p ON p.id = i.repo_id
  LEFT JOIN worker_records r ON r.item_id = i.id
 WHERE i.project_id = %(project)s::bigint AND i.state = 'leased' ORDER BY l.acquired_at LIMIT %(limit)s::int;

-- name: holders_of_files
-- Who holds which files, and the first who wait for exactly that story.
SELECT i.id, i.story_id, i.title, i.phase, i.file_scope, coalesce(r.name, '') AS repo,
       array(SELECT w.story_id FROM work_items w WHERE w.state = 'waiting' AND w.wait_kind = 'scope' AND w.wait_key = i.id::text
              ORDER BY w.deadline_at, w.id LIMIT %(waiters)s::int) AS waiters
  FROM work_items i JOIN repos r ON r.id = i.repo_id
 WHERE i.project_id = %(project)s::bigint AND i.id IN (SELECT a.item_id FROM active_scopes a)
 ORDER BY i.deadline_at, i.id LIMIT %(limit)s::int;
