DELETE FROM worker_records WHERE item_id = %(item)s::bigint
