-- What a person approved, or was asked to.

-- name: approve
-- A person's word for the change that this run asks about is recorded as done; the run goes on as it is, at the milestone that it had.
WITH reached AS (
    SELECT body ->> 'milestone' AS milestone, body ->> 'line' AS line FROM events_outbox
     WHERE item_id = %(id)s::bigint AND kind = 'milestone.changed' AND body ->> 'milestone' <> 'BLOCKED'
     ORDER BY id DESC LIMIT 1),
said AS (
    INSERT INTO journal (item_id, run_no, phase, step, key, status, fence, output, done_at)
    VALUES (%(id)s::bigint, %(run)s::int, %(phase)s::text, 'approved_change', %(change)s::text, 'done', %(fence)s::bigint,
            %(output)s::jsonb, clock_timestamp())),
record AS (
    INSERT INTO worker_records (item_id, worker_id, milestone, line)
    SELECT %(id)s::bigint, 'a person', milestone, line FROM reached
    ON CONFLICT (item_id) DO UPDATE SET milestone = excluded.milestone, line = excluded.line, updated_at = now())
UPDATE work_items SET phase = resume_phase, state = 'ready', fence = fence + 1, rescues = 0, resume_phase = NULL,
    ready_at = now(), deadline_at = now() + %(slack)s::interval, updated_at = now()
 WHERE id = %(id)s::bigint;

-- name: approval_asked
-- What a blocked story's run asks a person to approve. The engine wrote it with the question, in one transaction.
SELECT output ->> 'change' AS change, output ->> 'commit' AS commit, coalesce(output -> 'unproved', '[]') AS unproved FROM journal
 WHERE item_id = %(item)s::bigint AND run_no = %(run)s::int AND step = 'approval' AND status = 'done'
   AND NOT EXISTS (SELECT FROM journal d WHERE d.item_id = journal.item_id AND d.step = 'approved_change' AND d.key = journal.key)
 ORDER BY done_at DESC LIMIT 1;

-- name: approval_of
-- A person's word for exactly this change, or given when they saw this very commit or what is held against the change, in
-- whichever run. The latest.
SELECT output, done_at FROM journal j WHERE item_id = %(item)s::bigint AND step = 'approved_change' AND status = 'done'
   AND (key = %(change)s::text OR output ->> 'commit' = %(commit)s::text
        OR EXISTS (SELECT FROM journal q WHERE q.item_id = j.item_id AND q.step = 'approval' AND q.key = j.key
                      AND q.output ->> 'of' = %(change)s::text))
 ORDER BY done_at DESC LIMIT 1;

-- name: approvals_awaited
-- Stories of a repository that wait for a person's approval, with the commit that is shown and the reviews that were applied.
SELECT i.story_id, i.branch, j.output ->> 'commit' AS commit,
       ARRAY (SELECT e.body ->> 'review' FROM events_outbox e WHERE e.item_id = i.id AND e.body ? 'review'
                 AND e.kind IN ('story.approved', 'story.sent_back')) AS applied
  FROM work_items i JOIN LATERAL (
    SELECT output FROM journal WHERE item_id = i.id AND run_no = i.run_no AND step = 'approval' AND status = 'done'
     ORDER BY done_at DESC LIMIT 1) j ON true
 WHERE i.repo_id = %(repo)s::bigint AND i.phase = 'blocked'
   AND EXISTS (SELECT FROM human_issues h WHERE h.item_id = i.id AND h.closed_at IS NULL) ORDER BY i.id;

-- name: approved_otherwise
-- A word for another change of the same build: what lands has become another one since.
SELECT 1 AS found FROM journal a WHERE a.item_id = %(item)s::bigint AND a.step = 'approved_change' AND a.key <> %(change)s::text
   AND a.run_no > (SELECT coalesce(max(run_no), 0) FROM journal WHERE item_id = a.item_id AND step = 'implement') LIMIT 1;

-- name: use_spec
-- A person approves the spec that the refiner left in this run: its hash is recorded as done, and the run goes on as it is.
WITH refined AS (
    SELECT encode(sha256(convert_to(j.output ->> 'text', 'UTF8')), 'hex') AS spec FROM journal j
      JOIN work_items i ON i.id = j.item_id
     WHERE j.item_id = %(id)s::bigint AND j.run_no = %(run)s::int AND j.step = 'refine' AND j.status = 'done'
       AND j.output ->> 'text' IS NOT NULL AND i.resume_phase = 'spec'),
said AS (
    INSERT INTO journal (item_id, run_no, phase, step, key, status, fence, output, done_at)
    SELECT %(id)s::bigint, %(run)s::int, 'spec', 'approved', spec, 'done', %(fence)s::bigint,
           jsonb_build_object('spec', spec), clock_timestamp() FROM refined
    ON CONFLICT DO NOTHING),
item AS (
    UPDATE work_items SET phase = resume_phase, state = 'ready', fence = fence + 1, rescues = 0, resume_phase = NULL,
        ready_at = now(), deadline_at = now() + %(slack)s::interval, updated_at = now()
     WHERE id = %(id)s::bigint AND EXISTS (SELECT FROM refined))
SELECT spec FROM refined;

-- name: look_again
-- A person has mended what CI needs: the run goes on as it is, at the milestone that it had, but for what it knew of CI. Nothing
-- else in its journal is touched.
WITH reached AS (
    SELECT body ->> 'milestone' AS milestone, body ->> 'line' AS line FROM events_outbox
     WHERE item_id = %(id)s::bigint AND kind = 'milestone.changed' AND body ->> 'milestone' <> 'BLOCKED'
     ORDER BY id DESC LIMIT 1),
forgotten AS (
    DELETE FROM journal WHERE item_id = %(id)s::bigint AND run_no = %(run)s::int
       AND step IN ('ci', 'ci_since', 'ci_rerun', 'diagnose')),
record AS (
    INSERT INTO worker_records (item_id, worker_id, milestone, line)
    SELECT %(id)s::bigint, 'a person', milestone, line FROM reached
    ON CONFLICT (item_id) DO UPDATE SET milestone = excluded.milestone, line = excluded.line, updated_at = now()),
item AS (
    UPDATE work_items SET phase = resume_phase, state = 'ready', fence = fence + 1, rescues = 0, resume_phase = NULL,
        ready_at = now(), deadline_at = now() + %(slack)s::interval, updated_at = now()
     WHERE id = %(id)s::bigint)
SELECT milestone FROM reached;
