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
SELECT spec FROM refined
