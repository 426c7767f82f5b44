SELECT step, key, status, fence, input, output FROM journal WHERE item_id = %(item)s::bigint AND run_no = %(run)s::int
