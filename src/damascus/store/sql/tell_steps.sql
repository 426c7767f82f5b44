-- By whoever still holds the lease: a worker that woke up late must not tell of its own old step.
UPDATE worker_records w SET step = n.step, updated_at = now()
  FROM unnest(%(items)s::bigint[], %(fences)s::bigint[], %(steps)s::text[]) AS n(item_id, fence, step)
  JOIN leases l ON l.item_id = n.item_id AND l.fence = n.fence
 WHERE w.item_id = n.item_id
