UPDATE human_issues SET closed_at = now(), answer = %(answer)s::text WHERE id = %(issue)s::bigint AND closed_at IS NULL RETURNING item_id
