-- Steps of runs and the events that tell of them.

-- name: journal_of_run
SELECT step, key, status, fence, input, output FROM journal WHERE item_id = %(item)s::bigint AND run_no = %(run)s::int
 ORDER BY done_at, step, key;

-- name: journal_intent
-- A second intent adds to the first: the process of an agent that a dead worker left must not be forgotten.
INSERT INTO journal (item_id, run_no, phase, step, key, status, fence, input)
VALUES (%(item)s::bigint, %(run)s::int, %(phase)s::text, %(step)s::text, %(key)s::text, 'intent', %(fence)s::bigint, %(input)s::jsonb)
ON CONFLICT (item_id, run_no, step, key) DO UPDATE
   SET fence = excluded.fence, input = journal.input || excluded.input, started_at = excluded.started_at
 WHERE journal.status = 'intent';

-- name: fenced_dones
SELECT fenced_dones(%(item)s::bigint, %(fence)s::bigint, %(run)s::int, %(phase)s::text, %(project)s::bigint, %(dones)s::jsonb);

-- name: events
SELECT write_events(%(project)s::bigint, %(item)s::bigint, %(events)s::jsonb);

-- name: push_intents
-- Did an older fence of this item begin a push that nobody finished? Then its worker may still be inside it.
SELECT EXISTS (SELECT 1 FROM journal WHERE item_id = %(item)s::bigint AND step = 'push' AND status = 'intent'
                  AND fence < %(fence)s::bigint) AS older;

-- name: left_processes
SELECT input -> 'process' AS process FROM journal
 WHERE item_id = %(item)s::bigint AND status = 'intent' AND jsonb_typeof(input -> 'process') = 'object';

-- name: latest_step
SELECT output FROM journal WHERE item_id = %(item)s::bigint AND step = ANY(%(steps)s::text[]) AND status = 'done'
 ORDER BY run_no DESC, done_at DESC LIMIT 1;

-- name: last_agent
-- Who was sent last in an earlier run of the item: what lies in its workspace is theirs.
SELECT run_no, input ->> 'role' AS role, key <> '' AND output -> 'forbidden' <> '[]' AS overstepped FROM journal
 WHERE item_id = %(item)s::bigint AND run_no < %(run)s::int AND input ? 'role' ORDER BY started_at DESC LIMIT 1;

-- name: last_work
-- What the last agent that writes files left, in an earlier run of the item; of several in one run none that overstepped
-- its role.
SELECT output ->> 'tree' AS tree FROM journal
 WHERE item_id = %(item)s::bigint AND run_no < %(run)s::int AND status = 'done' AND input ? 'role'
   AND output ->> 'tree' IS NOT NULL AND (key = '' OR output -> 'forbidden' = '[]') ORDER BY run_no DESC, done_at DESC LIMIT 1;

-- name: earlier_steps
-- The newest result of each of these steps in the item's earlier runs.
SELECT DISTINCT ON (step) step, run_no, output FROM journal
 WHERE item_id = %(item)s::bigint AND run_no < %(run)s::int AND status = 'done' AND step = ANY(%(steps)s::text[])
 ORDER BY step, run_no DESC, done_at DESC;

-- name: ci_fixes
-- How often a red CI run went back to the agent since a person last gave the story a new budget.
SELECT count(*) AS fixes FROM events_outbox e
 WHERE e.item_id = %(item)s::bigint AND e.kind = 'attempt.rejected' AND e.body ->> 'verdict' = 'ci_failed'
   AND e.id > coalesce((SELECT max(r.id) FROM events_outbox r WHERE r.item_id = %(item)s::bigint
                           AND r.kind IN ('story.retried', 'story.replaced')), 0);

-- name: answer_to
-- What a person answered when exactly this was shown. Only the start of a question is ours alone to word.
SELECT answer FROM human_issues WHERE item_id = %(item)s::bigint AND closed_at IS NOT NULL
   AND starts_with(question, %(start)s::text) AND answer = ANY (%(answers)s::text[]) ORDER BY id DESC LIMIT 1;

-- name: answers_beginning
-- What people answered to questions that begin so, the newest last.
SELECT question, answer, closed_at FROM human_issues WHERE item_id = %(item)s::bigint AND closed_at IS NOT NULL
   AND starts_with(question, %(start)s::text) AND starts_with(answer, %(answer)s::text) ORDER BY id;

-- name: handoff_facts
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
 ORDER BY what, far, updated_at DESC NULLS LAST, story_id;

-- name: steps_of_build
-- All that was done in the newest run of the item's build, oldest first.
SELECT step, key, output FROM journal
 WHERE item_id = %(item)s::bigint AND status = 'done'
   AND run_no = (SELECT max(run_no) FROM journal WHERE item_id = %(item)s::bigint AND phase = 'build')
 ORDER BY done_at, step, key;

-- name: steps_of_review
-- What those said last who read the pull request since it was built.
SELECT DISTINCT ON (step) step, output FROM journal
 WHERE item_id = %(item)s::bigint AND phase = 'review' AND status = 'done' AND step = ANY (%(steps)s::text[])
   AND run_no > (SELECT max(run_no) FROM journal WHERE item_id = %(item)s::bigint AND phase = 'build')
 ORDER BY step, run_no DESC, done_at DESC;

-- name: pull_facts
-- What the comment on a pull request tells besides the receipt: CI of exactly this commit, what its reviewers said since it
-- was built, and what the story's agents cost.
SELECT (SELECT output FROM journal WHERE item_id = %(item)s::bigint AND step = 'ci' AND status = 'done'
            AND output ->> 'sha' = %(commit)s::text ORDER BY run_no DESC, done_at DESC LIMIT 1) AS ci,
       (SELECT jsonb_object_agg(step, output ORDER BY run_no, done_at) FROM journal
         WHERE item_id = %(item)s::bigint AND phase = 'review' AND status = 'done' AND step = ANY (%(steps)s::text[])
           AND run_no > (SELECT max(run_no) FROM journal WHERE item_id = %(item)s::bigint AND phase = 'build')) AS said,
       coalesce(sum(tokens), 0)::bigint AS tokens, coalesce(sum(microdollars), 0)::bigint AS microdollars,
       coalesce(bool_or(microdollars IS NULL AND tokens > 0), false) AS unpriced
  FROM spending WHERE item_id = %(item)s::bigint;
