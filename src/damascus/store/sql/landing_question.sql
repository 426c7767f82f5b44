SELECT question FROM human_issues
 WHERE item_id = %(item)s::bigint AND closed_at IS NULL AND %(option)s::text = ANY (options) ORDER BY id DESC LIMIT 1
