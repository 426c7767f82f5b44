SELECT 1 AS found FROM journal WHERE item_id = %(item)s::bigint AND run_no = %(run)s::int AND step = 'land' AND status = 'intent'
