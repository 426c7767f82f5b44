UPDATE worker_records w SET step = n.step, updated_at = now()
  FROM unnest(%(items)s::bigint[], %(steps)s::text[]) AS n(item_id, step) WHERE w.item_id = n.item_id
