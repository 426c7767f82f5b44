UPDATE human_issues SET closed_at = now(), answer = %(answer)s::text
 WHERE item_id = %(item)s::bigint AND kind = 'write' AND closed_at IS NULL RETURNING id
