UPDATE work_items SET pr_url = %(pr_url)s::text, candidate = %(candidate)s::text, updated_at = now()
 WHERE id = %(item)s::bigint AND fence = %(fence)s::bigint
