INSERT INTO budget_raises (project_id, item_id, unit, amount)
VALUES (%(project)s::bigint, %(item)s::bigint, %(unit)s::text, %(amount)s::bigint)
ON CONFLICT (project_id, item_id, unit) DO UPDATE SET amount = excluded.amount, at = now()
