UPDATE human_issues SET owner = %(owner)s::text WHERE id = %(issue)s::bigint AND closed_at IS NULL
