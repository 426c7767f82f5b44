INSERT INTO human_issues (project_id, item_id, question, options, kind)
VALUES (%(project)s::bigint, %(item)s::bigint, %(question)s::text, %(options)s::text[], 'write') RETURNING id
