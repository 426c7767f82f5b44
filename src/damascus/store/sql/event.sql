INSERT INTO events_outbox (project_id, item_id, kind, body)
SELECT %(project)s::bigint, %(item)s::bigint, e.kind, e.body
  FROM unnest(%(kinds)s::text[], %(bodies)s::jsonb[]) WITH ORDINALITY AS e(kind, body, n) ORDER BY e.n
