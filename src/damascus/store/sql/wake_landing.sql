UPDATE work_items SET not_before = now()
 WHERE id = %(item)s::bigint AND state = 'waiting' AND wait_kind = 'dirty' AND not_before > now()
