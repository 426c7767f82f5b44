SELECT max(run_no) AS run_no FROM journal WHERE item_id = %(item)s::bigint AND run_no < %(run)s::int AND step = 'implement'
