WITH RECURSIVE up(id) AS (
    SELECT unnest(depends_on) FROM work_items WHERE id = %(id)s::bigint
    UNION SELECT unnest(w.depends_on) FROM work_items w JOIN up ON w.id = up.id)
SELECT 1 AS found FROM up WHERE id = %(id)s::bigint LIMIT 1
