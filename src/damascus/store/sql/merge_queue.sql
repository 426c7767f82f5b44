-- The merge queue (store/merge_queue.py).

-- name: queue_look
SELECT q.version, q.width, e.item_id, e.base, e.commit, e.state
  FROM queues q LEFT JOIN queue_entries e ON e.repo_id = q.repo_id AND e.target = q.target
 WHERE q.repo_id = %(repo)s::bigint AND q.target = %(target)s::text ORDER BY e.pos;

-- name: queue_put
SELECT queue_put(%(repo)s::bigint, %(target)s::text, %(item)s::bigint, %(base)s::text, %(commit)s::text, %(state)s::text,
                 %(most)s::int) AS answer;

-- name: queue_mark
SELECT queue_mark(%(item)s::bigint, %(commit)s::text, %(state)s::text);

-- name: queue_landed
SELECT leave_queue(%(item)s::bigint, true);

-- name: leave_queue
SELECT leave_queue(%(item)s::bigint, false);
