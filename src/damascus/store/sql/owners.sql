-- Who owns which file, by what each landed story changed.

-- name: owners_of
-- Landed stories that own one of these paths. One that is stale, built again or reverted promises nothing at present.
SELECT o.path, w.id, w.story_id, w.spec, w.spec_path FROM file_owners o JOIN work_items w ON w.id = o.item_id
 WHERE o.repo_id = %(repo)s::bigint AND o.path = ANY (%(paths)s::text[]) AND w.phase = 'done' ORDER BY w.id, o.path;

-- name: owners_all
-- Every landed story that owns a file.
SELECT o.path, w.id, w.story_id, w.spec, w.spec_path FROM file_owners o JOIN work_items w ON w.id = o.item_id
 WHERE o.repo_id = %(repo)s::bigint AND w.phase = 'done' ORDER BY w.id, o.path;

-- name: owner_map
-- Every path that a story landed, with the stories that did, the first one first.
SELECT o.path, array_agg(w.story_id ORDER BY w.id) AS stories FROM file_owners o JOIN work_items w ON w.id = o.item_id
 WHERE o.repo_id = %(repo)s::bigint GROUP BY o.path ORDER BY o.path;

-- name: owned_by
-- The paths of these stories, by name.
SELECT w.story_id, o.path FROM file_owners o JOIN work_items w ON w.id = o.item_id
 WHERE o.repo_id = %(repo)s::bigint AND lower(w.story_id) = ANY (%(names)s::text[]) ORDER BY w.id, o.path;
