-- Who did what by the window or by a token (store/audit.py).

-- name: audit_begin
INSERT INTO audit (project_id, who, by, act, target, origin)
VALUES (%(project)s::bigint, %(who)s::text, %(by)s::text, %(act)s::text, %(target)s::text, %(origin)s::text) RETURNING id;

-- name: audit_end
UPDATE audit SET outcome = %(outcome)s::text WHERE id = %(line)s::bigint;

-- name: audit_newest
SELECT id, at, who, by, act, target, origin, outcome FROM audit
 WHERE project_id = %(project)s::bigint ORDER BY id DESC LIMIT %(limit)s::int;
