-- A step was done: rescues are counted in a row inside one step.
UPDATE work_items SET rescues = 0 WHERE id = %(item)s::bigint AND fence = %(fence)s::bigint
