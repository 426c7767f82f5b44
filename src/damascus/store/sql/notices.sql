-- Readers of the stream with a cursor of their own, and the messages that are made of it.

-- name: cursor_begin
-- A reader that is new begins at the stream's end: nobody is told of last year. Who counts begins with its first event.
INSERT INTO stream_cursors (project_id, reader, seq)
SELECT %(project)s::bigint, %(reader)s::text, CASE WHEN %(whole)s::bool THEN 0 ELSE last_seq END FROM stream ON CONFLICT DO NOTHING;

-- name: cursor_alone
-- Its place, held until the transaction ends; no row while another process is at it.
SELECT c.seq, s.last_seq, s.last_seq > c.seq AS behind FROM stream_cursors c, stream s
 WHERE c.project_id = %(project)s::bigint AND c.reader = %(reader)s::text FOR UPDATE OF c SKIP LOCKED;

-- name: cursor_take
-- Its place, for a while: what is done with it takes longer than a transaction should.
UPDATE stream_cursors c SET taken_until = clock_timestamp() + make_interval(secs => %(seconds)s::float8)
  FROM stream s
 WHERE c.project_id = %(project)s::bigint AND c.reader = %(reader)s::text AND s.last_seq > c.seq
   AND (c.taken_until IS NULL OR c.taken_until < clock_timestamp())
RETURNING c.seq, s.last_seq;

-- name: cursor_move
UPDATE stream_cursors SET seq = greatest(seq, %(seq)s::bigint), taken_until = NULL
 WHERE project_id = %(project)s::bigint AND reader = %(reader)s::text;

-- name: cursor_leave
UPDATE stream_cursors SET taken_until = NULL WHERE project_id = %(project)s::bigint AND reader = %(reader)s::text;

-- name: events_to_tell
-- What people may want to be told, with the question of its story that is still open.
SELECT n.seq, e.kind, e.body, e.item_id, i.story_id, i.title,
       extract(epoch FROM clock_timestamp() - e.created_at)::float8 AS age,
       (SELECT max(h.id) FROM human_issues h WHERE h.project_id = %(project)s::bigint AND h.closed_at IS NULL
           AND h.item_id IS NOT DISTINCT FROM e.item_id) AS issue
  FROM event_numbers n JOIN events_outbox e ON e.id = n.event_id LEFT JOIN work_items i ON i.id = e.item_id
 WHERE n.seq > %(after)s::bigint AND n.seq <= %(upto)s::bigint AND e.project_id = %(project)s::bigint
   AND e.kind = ANY (%(kinds)s::text[])
   AND (e.kind <> 'phase.transitioned' OR e.body ->> 'to' = 'done') AND (e.kind <> 'item.waits' OR e.body ->> 'kind' = 'budget')
 ORDER BY n.seq LIMIT %(most)s::int;

-- name: add_notice
INSERT INTO notices (project_id, target, first_seq, last_seq, title, lines)
VALUES (%(project)s::bigint, %(target)s::text, %(first)s::bigint, %(last)s::bigint, %(title)s::text, %(lines)s::jsonb)
ON CONFLICT DO NOTHING;

-- name: take_notice
-- The oldest that is due, of a target where nobody is at it and none before it waits: messages keep their order.
UPDATE notices SET taken_until = clock_timestamp() + make_interval(secs => %(seconds)s::float8), tries = tries + 1
 WHERE id = (SELECT n.id FROM notices n
              WHERE n.project_id = %(project)s::bigint AND n.sent_at IS NULL AND n.given_up_at IS NULL
                AND n.target = ANY (%(targets)s::text[]) AND n.not_before <= clock_timestamp()
                AND (n.taken_until IS NULL OR n.taken_until < clock_timestamp())
                AND NOT EXISTS (SELECT 1 FROM notices b WHERE b.project_id = n.project_id AND b.target = n.target
                                   AND b.id < n.id AND b.sent_at IS NULL AND b.given_up_at IS NULL)
              ORDER BY n.id LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING id, target, first_seq, last_seq, title, lines, tries,
          extract(epoch FROM clock_timestamp() - made_at)::float8 AS age;

-- name: notice_sent
UPDATE notices SET sent_at = clock_timestamp(), taken_until = NULL, error = NULL, given_up_at = NULL WHERE id = %(id)s::bigint;

-- name: notice_failed
UPDATE notices SET taken_until = NULL, error = %(error)s::text,
       not_before = clock_timestamp() + make_interval(secs => %(seconds)s::float8),
       given_up_at = CASE WHEN %(give_up)s::bool THEN clock_timestamp() END
 WHERE id = %(id)s::bigint AND sent_at IS NULL;

-- name: forget_notices
DELETE FROM notices WHERE project_id = %(project)s::bigint
   AND coalesce(sent_at, given_up_at) < clock_timestamp() - make_interval(days => %(days)s::int);

-- name: notices_waiting
-- By target: how many are not sent, since when, and what the last try said.
SELECT target, count(*) AS n, min(made_at) AS since, max(tries) AS tries, (array_agg(error ORDER BY id))[1] AS error,
       min(not_before) AS next
  FROM notices WHERE project_id = %(project)s::bigint AND sent_at IS NULL AND given_up_at IS NULL
 GROUP BY target ORDER BY target;

-- name: notices_given_up
SELECT target, count(*) AS n, max(given_up_at) AS last, (array_agg(error ORDER BY id DESC))[1] AS error
  FROM notices WHERE project_id = %(project)s::bigint AND given_up_at IS NOT NULL GROUP BY target ORDER BY target;
