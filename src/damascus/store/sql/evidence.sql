-- Passes of judged runs that are kept.

-- name: evidence_find
SELECT result FROM evidence WHERE key = %(key)s::text AND repo_id = %(repo)s::bigint;

-- name: evidence_keep
INSERT INTO evidence (key, repo_id, tree, command, environment, gate_version, result)
VALUES (%(key)s::text, %(repo)s::bigint, %(tree)s::text, %(command)s::text, %(environment)s::text,
        %(gate_version)s::text, %(result)s::jsonb)
ON CONFLICT (key) DO NOTHING;
