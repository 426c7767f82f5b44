-- The lease is looked at again under its lock: between the rescuer's look and now its worker may have renewed it.
WITH held AS MATERIALIZED (
    SELECT item_id, fence FROM leases
     WHERE item_id = %(item)s::bigint AND fence = %(fence)s::bigint
       AND (NOT %(if_expired)s::bool OR expires_at < clock_timestamp())
       FOR UPDATE)
SELECT rescue_item(item_id, fence, %(limit)s::int, %(why)s::text) AS became FROM held
