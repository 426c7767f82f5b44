SELECT count(*) AS n FROM work_items i JOIN projects p ON p.id = i.project_id WHERE p.uuid = %(uuid)s::uuid
