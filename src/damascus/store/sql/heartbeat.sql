-- Renews every lease of this process in one statement, expired or not: expiry only permits rescue.
UPDATE leases l SET expires_at = clock_timestamp() + %(lease)s::interval
  FROM unnest(%(items)s::bigint[], %(fences)s::bigint[]) AS held(item_id, fence)
 WHERE l.item_id = held.item_id AND l.fence = held.fence
RETURNING l.item_id
