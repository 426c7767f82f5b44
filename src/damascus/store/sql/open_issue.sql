INSERT INTO human_issues (project_id, item_id, question, options, owner)
VALUES (%(project)s::bigint, %(item)s::bigint, %(question)s::text, %(options)s::text[], %(owner)s::text) RETURNING id
