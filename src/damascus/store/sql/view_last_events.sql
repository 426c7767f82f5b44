-- The newest event of each kind.
SELECT DISTINCT ON (kind) kind, body, created_at FROM events_outbox WHERE item_id = %(item)s::bigint ORDER BY kind, id DESC
