-- Human issues: asked, answered, closed.

-- name: open_issue
INSERT INTO human_issues (project_id, item_id, question, options, owner)
VALUES (%(project)s::bigint, %(item)s::bigint, %(question)s::text, %(options)s::text[], %(owner)s::text) RETURNING id;

-- name: open_issues
SELECT h.*, i.story_id, i.title, i.phase, i.attempts, i.budget_cycles, i.last_verdict, i.last_feedback, i.priority, i.spec_path, i.graph,
       -- what the last agent of the story says that only a person can decide
       (SELECT j.output -> 'concerns' FROM journal j WHERE j.item_id = h.item_id AND j.step = 'implement' AND j.status = 'done'
         ORDER BY j.run_no DESC, j.done_at DESC LIMIT 1) AS concerns
  FROM human_issues h LEFT JOIN work_items i ON i.id = h.item_id
 WHERE h.project_id = %(project)s::bigint AND h.closed_at IS NULL ORDER BY i.priority NULLS LAST, h.id;

-- name: issue
SELECT h.*, i.story_id, i.title, i.phase FROM human_issues h LEFT JOIN work_items i ON i.id = h.item_id
 WHERE h.project_id = %(project)s::bigint AND h.id = %(issue)s::bigint;

-- name: own_issue
UPDATE human_issues SET owner = %(owner)s::text WHERE id = %(issue)s::bigint AND closed_at IS NULL;

-- name: close_issue
UPDATE human_issues SET closed_at = now(), answer = %(answer)s::text WHERE id = %(issue)s::bigint AND closed_at IS NULL RETURNING item_id;

-- name: close_issues
UPDATE human_issues SET closed_at = now(), answer = %(answer)s::text WHERE item_id = %(item)s::bigint AND closed_at IS NULL RETURNING id;

-- name: note_answer
-- A person has decided, and what was decided is still to be done: the question stays open.
UPDATE human_issues SET answer = %(answer)s::text WHERE id = %(issue)s::bigint AND closed_at IS NULL;

-- name: ask_about_write
INSERT INTO human_issues (project_id, item_id, question, options, kind)
VALUES (%(project)s::bigint, %(item)s::bigint, %(question)s::text, %(options)s::text[], 'write') RETURNING id;

-- name: close_write_questions
UPDATE human_issues SET closed_at = now(), answer = %(answer)s::text
 WHERE item_id = %(item)s::bigint AND kind = 'write' AND closed_at IS NULL RETURNING id;

-- name: lock_agent
SELECT pg_advisory_xact_lock(hashtextextended('agents of a project', %(project)s::bigint));

-- name: agent_asked
-- The open question of a project whose agents can't work.
SELECT id, about FROM human_issues WHERE project_id = %(project)s::bigint AND closed_at IS NULL AND about ->> 'about' = 'agent';

-- name: lock_place
SELECT pg_advisory_xact_lock(hashtextextended('place of a repository', %(repo)s::bigint));

-- name: place_asked
SELECT id FROM human_issues WHERE project_id = %(project)s::bigint AND closed_at IS NULL
   AND about -> 'repo' = to_jsonb(%(repo)s::bigint) AND about ->> 'about' = 'place';

-- name: landing_question
SELECT question FROM human_issues
 WHERE item_id = %(item)s::bigint AND closed_at IS NULL AND %(option)s::text = ANY (options) ORDER BY id DESC LIMIT 1;

-- name: close_landing_questions
UPDATE human_issues SET closed_at = now(), answer = %(answer)s::text
 WHERE item_id = %(item)s::bigint AND closed_at IS NULL AND %(option)s::text = ANY (options) RETURNING id;
