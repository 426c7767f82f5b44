UPDATE human_issues SET closed_at = now(), answer = %(answer)s::text
 WHERE item_id = %(item)s::bigint AND closed_at IS NULL AND %(option)s::text = ANY (options) RETURNING id
