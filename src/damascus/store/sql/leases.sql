-- Who may act on an item: claim, heartbeat, rescue (store/leases.py tells the protocol).

-- name: claim
-- Claims up to `count` items of a project; the last row has no item and says how many rows were looked at (-1: unknown schema).
SELECT item_id, looked FROM claim_within(%(low)s::int, %(high)s::int, %(project)s::bigint, %(worker)s::text, %(count)s::int,
                                         %(lease)s::interval, %(look)s::int);

-- name: assert_fence
SELECT assert_fence(%(item)s::bigint, %(fence)s::bigint);

-- name: heartbeat
-- Renews every lease of this process in one statement, expired or not: expiry only permits rescue.
UPDATE leases l SET expires_at = clock_timestamp() + %(lease)s::interval
  FROM unnest(%(items)s::bigint[], %(fences)s::bigint[]) AS held(item_id, fence)
 WHERE l.item_id = held.item_id AND l.fence = held.fence
RETURNING l.item_id;

-- name: expired_leases
-- Rescue waits one lease time after the server's start: its downtime must not end healthy work.
SELECT l.item_id, l.fence, l.worker_id, l.expires_at < clock_timestamp() AND
       pg_postmaster_start_time() + %(lease)s::interval < clock_timestamp() AS expired
  FROM leases l JOIN work_items i ON i.id = l.item_id
 ORDER BY l.expires_at LIMIT 500;

-- name: rescue
-- The lease is looked at again under its lock: between the rescuer's look and now its worker may have renewed it.
WITH held AS MATERIALIZED (
    SELECT item_id, fence FROM leases
     WHERE item_id = %(item)s::bigint AND fence = %(fence)s::bigint
       AND (NOT %(if_expired)s::bool OR expires_at < clock_timestamp())
       FOR UPDATE)
SELECT rescue_item(item_id, fence, %(limit)s::int, %(why)s::text) AS became FROM held;

-- name: unknown_leases
-- Leases that this process holds without knowing: the claim was committed, its answer was lost.
SELECT item_id, fence FROM leases WHERE worker_id = %(worker)s::text AND NOT item_id = ANY (%(known)s::bigint[]);

-- name: give_back
WITH gone AS (DELETE FROM leases WHERE item_id = %(item)s::bigint AND fence = %(fence)s::bigint RETURNING item_id),
freed AS (UPDATE work_items SET state = 'ready', fence = fence + 1, updated_at = now()
           WHERE id IN (SELECT item_id FROM gone) RETURNING id, project_id)
INSERT INTO events_outbox (project_id, item_id, kind, body)
SELECT project_id, id, 'item.released', '{"reason": "the answer to its claim was lost"}' FROM freed;

-- name: drop_lease_of
DELETE FROM leases WHERE item_id = %(id)s::bigint RETURNING worker_id;

-- name: view_leased
SELECT item_id FROM leases WHERE item_id = %(item)s::bigint;
