-- A milestone counts once its line was published.
SELECT s.*, (SELECT w.milestone FROM worker_records w WHERE w.item_id = s.id AND w.line IS NOT NULL) AS milestone
  FROM settle_item(%(item)s::bigint, %(fence)s::bigint, %(columns)s::jsonb, %(spec)s::bytea, %(spans)s::scope_span[]) s
