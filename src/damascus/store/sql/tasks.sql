-- Tasks: the stories of a task graph.

-- name: tasks_of
SELECT i.id, i.story_id, i.title, i.phase, i.claims, i.spec, i.spec_hash, i.spec_path, i.graph, i.graph_at, i.merged_commit,
       i.change, i.file_scope, i.updated_at,
       array(SELECT d.story_id FROM unnest(i.depends_on) WITH ORDINALITY u (id, n) JOIN work_items d ON d.id = u.id ORDER BY u.n)
           AS depends_on,
       (SELECT e.body ->> 'spec' FROM events_outbox e
         WHERE e.item_id = i.id AND e.kind IN ('story.added', 'story.replaced') ORDER BY e.id DESC LIMIT 1) AS added_hash
  FROM work_items i
 WHERE i.project_id = %(project)s::bigint AND i.graph IS NOT NULL ORDER BY i.graph, i.graph_at NULLS LAST, i.id;

-- name: place_tasks
-- Where each stands in its graph now, whatever became of it.
UPDATE work_items i SET graph_at = p.at
  FROM unnest(%(ids)s::bigint[], %(places)s::int[]) AS p (id, at)
 WHERE i.id = p.id AND i.graph_at IS DISTINCT FROM p.at;

-- name: judged_contracts
-- What the last judged run of each said of its test contract.
SELECT v.item_id, r.value -> 'contracts' AS contracts
  FROM (SELECT DISTINCT ON (j.item_id) j.item_id, j.output FROM journal j
         WHERE j.item_id = ANY (%(ids)s::bigint[]) AND j.step = 'verify' AND j.status = 'done'
         ORDER BY j.item_id, j.run_no DESC, j.done_at DESC) v
  CROSS JOIN LATERAL jsonb_array_elements(v.output -> 'results') AS r
 WHERE r.value ->> 'gate' = 'test_contracts';

-- name: open_holds
SELECT h.reason, h.halt, h.created_at, coalesce(r.name, '') AS repo FROM repo_holds h JOIN repos r ON r.id = h.repo_id
 WHERE r.project_id = %(project)s::bigint AND h.released_at IS NULL ORDER BY h.id;
