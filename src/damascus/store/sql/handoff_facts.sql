-- What the queue knows for a hand-off, in one answer: who else works, what the item builds on, whether others wait for
-- it and whether its repository is one of a chain. `far` is 1 for what the spec itself names.
WITH RECURSIVE chain AS (
    SELECT d.id, d.depends_on, 1 AS far FROM work_items i JOIN work_items d ON d.id = ANY (i.depends_on)
     WHERE i.id = %(item)s::bigint
    UNION
    SELECT d.id, d.depends_on, c.far + 1 FROM chain c JOIN work_items d ON d.id = ANY (c.depends_on) WHERE c.far < 5)
SELECT 'parallel' AS what, story_id, title, NULL::bytea AS spec, NULL::text AS commit, 0 AS far, updated_at
  FROM (SELECT * FROM work_items WHERE project_id = %(project)s::bigint AND state = 'leased' AND id <> %(item)s::bigint
         ORDER BY id LIMIT 20) p
UNION ALL
SELECT 'chain', d.story_id, d.title, CASE WHEN c.far = 1 THEN d.spec END, d.merged_commit, c.far, d.updated_at
  FROM (SELECT id, min(far) AS far FROM chain GROUP BY id) c JOIN work_items d ON d.id = c.id
UNION ALL
SELECT 'critical', '', '', NULL, NULL, 0, NULL WHERE EXISTS (
    SELECT 1 FROM work_items WHERE state = 'waiting' AND wait_kind = 'dependency' AND wait_key = %(item)s::bigint::text)
UNION ALL
SELECT 'edges', '', '', NULL, NULL, 0, NULL WHERE EXISTS (
    SELECT 1 FROM repo_edges WHERE up = %(repo)s::bigint OR down = %(repo)s::bigint)
 ORDER BY what, far, updated_at DESC NULLS LAST, story_id
