INSERT INTO work_items (project_id, project, repo_id, story_id, title, phase, state, priority, deadline_at, depends_on,
    file_scope, spans, spec, spec_hash, spec_path, acceptance, rough, branch, budget_cycles)
VALUES (%(project_id)s::bigint, %(project)s::text, %(repo_id)s::bigint, %(story_id)s::text, %(title)s::text, %(phase)s::text,
    'ready', %(priority)s::smallint, now() + %(slack)s::interval, %(depends_on)s::bigint[], %(file_scope)s::text[],
    %(spans)s::scope_span[], %(spec)s::bytea, %(spec_hash)s::text, %(spec_path)s::text, %(acceptance)s::bytea, %(rough)s::bool,
    %(branch)s::text, %(budget)s::int)
RETURNING id
