SELECT phase, count(*) AS n FROM work_items WHERE project_id = %(project)s::bigint GROUP BY phase
