DELETE FROM repos r USING projects p WHERE p.id = r.project_id AND p.uuid = %(uuid)s::uuid
