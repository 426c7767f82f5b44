-- Tokens of programs (store/tokens.py).

-- name: make_token
INSERT INTO tokens (project_id, name, scope, sha256, made_by, expires_at)
VALUES (%(project)s::bigint, %(name)s::text, %(scope)s::text, %(sha256)s::text, %(by)s::text,
        now() + %(lasts)s::interval)
RETURNING id, name, scope, sha256, made_by, made_at, expires_at, revoked_at, true AS valid;

-- name: token
SELECT id, name, scope, sha256, made_by, made_at, expires_at, revoked_at,
       revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()) AS valid
  FROM tokens WHERE project_id = %(project)s::bigint AND id = %(id)s::bigint;

-- name: tokens
SELECT id, name, scope, sha256, made_by, made_at, expires_at, revoked_at,
       revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()) AS valid
  FROM tokens WHERE project_id = %(project)s::bigint ORDER BY id;

-- name: revoke_token
UPDATE tokens SET revoked_at = now()
 WHERE project_id = %(project)s::bigint AND id = %(id)s::bigint AND revoked_at IS NULL RETURNING id;
