UPDATE workers SET ended_at = now() WHERE id = %(id)s::text
