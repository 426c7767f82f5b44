UPDATE workers SET repos = %(repos)s::bigint[] WHERE id = %(id)s::text
