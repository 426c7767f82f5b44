-- What the steps of a story leave, by name and version.

-- name: artifact_put
INSERT INTO artifacts (item_id, name, version, run_no, step, sha256, content)
SELECT %(item)s::bigint, %(name)s::text, coalesce(max(a.version), 0) + 1, %(run)s::integer, %(step)s::text,
       %(sha256)s::text, %(content)s::bytea
FROM artifacts a WHERE a.item_id = %(item)s::bigint AND a.name = %(name)s::text
HAVING coalesce((SELECT l.sha256 FROM artifacts l WHERE l.item_id = %(item)s::bigint AND l.name = %(name)s::text
                 ORDER BY l.version DESC LIMIT 1), '') <> %(sha256)s::text;

-- name: artifact_latest
SELECT name, version, run_no, step, sha256, content, made_at FROM artifacts
WHERE item_id = %(item)s::bigint AND name = %(name)s::text ORDER BY version DESC LIMIT 1;

-- name: artifacts_latest
SELECT DISTINCT ON (name) name, version, run_no, step, sha256, content, made_at FROM artifacts
WHERE item_id = %(item)s::bigint ORDER BY name, version DESC;

-- name: artifact_versions
SELECT name, version, run_no, step, sha256, made_at FROM artifacts
WHERE item_id = %(item)s::bigint ORDER BY name, version;

-- name: artifact_history
SELECT name, version, run_no, step, sha256, content, made_at FROM artifacts
WHERE item_id = %(item)s::bigint AND name = %(name)s::text ORDER BY version;

-- name: artifact_sizes
-- What there is, without its content: the newest first.
SELECT name, version, run_no, step, made_at, octet_length(content) AS bytes FROM artifacts
WHERE item_id = %(item)s::bigint ORDER BY made_at DESC, name, version DESC LIMIT 200;

-- name: artifact_version
SELECT name, version, run_no, step, sha256, content, made_at FROM artifacts
WHERE item_id = %(item)s::bigint AND name = %(name)s::text AND version = %(version)s::integer;
