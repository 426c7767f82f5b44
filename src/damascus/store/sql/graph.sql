-- Repositories that need each other (store/graph.py).

-- name: graph_lock
-- The claim's lock: nobody claims while the graph changes.
SELECT pg_advisory_xact_lock(hashtextextended('damascus claim', %(project)s::bigint));

-- name: graph_repos
-- The repositories of a project as the graph knows them.
SELECT r.id, r.uuid, coalesce(r.name, p.name) AS name, r.joined, r.path, r.main_branch, r.main_sha, r.max_workers, r.ci_state, r.ci_sha,
       r.ci_with, r.ci_text, r.green_sha, r.green_with, r.red_since
  FROM repos r JOIN projects p ON p.id = r.project_id WHERE r.project_id = %(project)s::bigint ORDER BY r.id;

-- name: graph_edges
SELECT e.up, e.down FROM repo_edges e JOIN repos r ON r.id = e.down WHERE r.project_id = %(project)s::bigint ORDER BY 1, 2;

-- name: graph_declare
UPDATE repos SET name = %(name)s::text, max_workers = %(max_workers)s::int WHERE id = %(repo)s::bigint;

-- name: graph_alone
-- Held by the session: one process at a time runs the tests of a repository's main.
SELECT pg_try_advisory_lock(hashtextextended('damascus cascade', %(repo)s::bigint)) AS got;

-- name: graph_not_alone
SELECT pg_advisory_unlock(hashtextextended('damascus cascade', %(repo)s::bigint));

-- name: graph_forget_edges
DELETE FROM repo_edges WHERE down = ANY (%(repos)s::bigint[]);

-- name: graph_add_edges
INSERT INTO repo_edges (up, down) SELECT * FROM unnest(%(ups)s::bigint[], %(downs)s::bigint[]) ON CONFLICT DO NOTHING;

-- name: graph_changed
SELECT graph_changed(%(project)s::bigint);

-- name: saw_main
UPDATE repos SET main_sha = %(sha)s::text WHERE id = %(repo)s::bigint AND main_sha IS DISTINCT FROM %(sha)s::text;

-- name: judge_repo
SELECT judge_repo(%(repo)s::bigint, %(sha)s::text, %(with)s::jsonb, %(state)s::text, %(text)s::text) AS news;

-- name: judge_again
-- As if it had not been judged: who depends on it goes on waiting, and if it is red again that is news.
UPDATE repos SET ci_state = 'pending', ci_sha = NULL, red_since = NULL WHERE id = %(repo)s::bigint AND ci_state IS NOT NULL;

-- name: open_repo_issue
-- A question about a repository: asked once, as long as it is open.
INSERT INTO human_issues (project_id, question, options, about)
SELECT %(project)s::bigint, %(question)s::text, %(options)s::text[], %(about)s::jsonb
 WHERE NOT EXISTS (SELECT 1 FROM human_issues h WHERE h.project_id = %(project)s::bigint AND h.closed_at IS NULL
                      AND h.about -> 'repo' = %(about)s::jsonb -> 'repo' AND h.about -> 'about' = %(about)s::jsonb -> 'about')
RETURNING id;

-- name: close_repo_issues
UPDATE human_issues SET answer = %(answer)s::text, closed_at = now()
 WHERE project_id = %(project)s::bigint AND closed_at IS NULL AND about -> 'repo' = to_jsonb(%(repo)s::bigint)
   AND about ->> 'about' = %(about)s::text
RETURNING id;

-- name: view_repo_holds
SELECT h.repo_id, h.reason, h.created_at FROM repo_holds h JOIN repos r ON r.id = h.repo_id
 WHERE r.project_id = %(project)s::bigint AND h.released_at IS NULL ORDER BY h.id;

-- name: view_graph
-- Who works in the repositories of a project, and who waits because of the graph or a hold.
SELECT i.repo_id, i.story_id, i.phase, i.state, i.wait_kind, i.wait_key, b.story_id AS blocker,
       EXISTS (SELECT 1 FROM repo_locks l WHERE l.item_id = i.id AND l.works)
           OR EXISTS (SELECT 1 FROM active_scopes a WHERE a.item_id = i.id) AS works
  FROM work_items i
  LEFT JOIN work_items b ON b.id = CASE WHEN i.wait_kind = 'chain' THEN i.wait_key::bigint END
 WHERE i.id IN (SELECT w.id FROM work_items w WHERE w.project_id = %(project)s::bigint AND w.state = 'leased'
                UNION SELECT a.item_id FROM active_scopes a
                UNION (SELECT w.id FROM work_items w WHERE w.project_id = %(project)s::bigint AND w.state = 'waiting'
                          AND w.wait_kind IN ('chain', 'upstream', 'repo_full', 'hold') ORDER BY w.deadline_at, w.id LIMIT 1000))
   AND i.project_id = %(project)s::bigint
 ORDER BY i.deadline_at, i.id;
