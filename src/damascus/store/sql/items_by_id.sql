SELECT i.*, w.milestone FROM work_items i LEFT JOIN worker_records w ON w.item_id = i.id WHERE i.id = ANY (%(ids)s::bigint[])
