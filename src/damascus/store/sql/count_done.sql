SELECT count(*) AS n FROM work_items WHERE project_id = %(project)s::bigint AND state = 'resting' AND phase = 'done'
