-- A question about a repository: asked once, as long as it is open.
INSERT INTO human_issues (project_id, question, options, about)
SELECT %(project)s::bigint, %(question)s::text, %(options)s::text[], %(about)s::jsonb
 WHERE NOT EXISTS (SELECT 1 FROM human_issues h WHERE h.project_id = %(project)s::bigint AND h.closed_at IS NULL
                      AND h.about -> 'repo' = %(about)s::jsonb -> 'repo' AND h.about -> 'about' = %(about)s::jsonb -> 'about')
RETURNING id
