-- What goes by age, and what would.

-- name: old_evidence
SELECT count(*) AS n, coalesce(sum(pg_column_size(e.*)), 0)::bigint AS bytes, min(made_at) AS oldest FROM evidence e
 WHERE repo_id = %(repo)s::bigint AND made_at < now() - make_interval(days => %(days)s::int);

-- name: prune_evidence
WITH gone AS (
    DELETE FROM evidence WHERE key IN (
        SELECT key FROM evidence WHERE repo_id = %(repo)s::bigint AND made_at < now() - make_interval(days => %(days)s::int)
         LIMIT %(most)s::int)
    RETURNING 1)
SELECT count(*) AS n FROM gone;

-- name: old_pictures
-- Of stories that are over, and that nobody accepted there; what was accepted in a cancelled story counts for nothing.
SELECT count(*) AS n, coalesce(sum(octet_length(s.png)), 0)::bigint AS bytes, min(s.shown_at) AS oldest
  FROM screenshots s JOIN work_items i ON i.id = s.item_id
 WHERE i.repo_id = %(repo)s::bigint AND (i.phase = 'cancelled' OR (i.phase = 'done' AND s.accepted_at IS NULL))
   AND greatest(s.shown_at, i.updated_at) < now() - make_interval(days => %(days)s::int);

-- name: prune_pictures
DELETE FROM screenshots s USING work_items i
 WHERE i.id = s.item_id AND i.repo_id = %(repo)s::bigint AND (i.phase = 'cancelled' OR (i.phase = 'done' AND s.accepted_at IS NULL))
   AND greatest(s.shown_at, i.updated_at) < now() - make_interval(days => %(days)s::int);

-- name: old_events
-- Numbered ones alone, of stories that are over: a follower has had the time to read them.
SELECT count(*) AS n, coalesce(sum(pg_column_size(e.*)), 0)::bigint AS bytes, min(e.created_at) AS oldest
  FROM events_outbox e JOIN work_items i ON i.id = e.item_id JOIN event_numbers n ON n.event_id = e.id
 WHERE i.repo_id = %(repo)s::bigint AND i.phase IN ('done', 'cancelled') AND e.kind = ANY (%(kinds)s::text[])
   AND e.id <= (SELECT settled FROM stream)
   AND greatest(e.created_at, i.updated_at) < now() - make_interval(days => %(days)s::int);

-- name: prune_events
-- In batches: the publisher waits for whoever writes the table. First the mark, so that no follower misses it.
WITH old AS (
    SELECT n.seq, e.id
      FROM events_outbox e JOIN work_items i ON i.id = e.item_id JOIN event_numbers n ON n.event_id = e.id
     WHERE i.repo_id = %(repo)s::bigint AND i.phase IN ('done', 'cancelled') AND e.kind = ANY (%(kinds)s::text[])
       AND e.id <= (SELECT settled FROM stream)
       AND greatest(e.created_at, i.updated_at) < now() - make_interval(days => %(days)s::int)
     ORDER BY n.seq LIMIT %(most)s::int),
marked AS (UPDATE stream SET pruned = greatest(pruned, (SELECT max(seq) FROM old)) WHERE EXISTS (SELECT 1 FROM old)),
numbers AS (DELETE FROM event_numbers WHERE seq IN (SELECT seq FROM old)),
gone AS (DELETE FROM events_outbox WHERE id IN (SELECT id FROM old) RETURNING 1)
SELECT count(*) AS n FROM gone;

-- name: stream_pruned
SELECT pruned FROM stream;
