-- SHIP (store/ships.py): declared, verified, taken back.

-- name: declare_ship
INSERT INTO ships (project_id, declared_by, note) VALUES (%(project)s::bigint, %(by)s::text, %(note)s::text)
ON CONFLICT (project_id) WHERE undone_at IS NULL DO NOTHING RETURNING id;

-- name: open_ship
SELECT id, declared_by, note, declared_at, verdict, receipt FROM ships WHERE project_id = %(project)s::bigint AND undone_at IS NULL;

-- name: verified_ship
-- The first who is done with it counts.
UPDATE ships SET verdict = %(verdict)s::text, receipt = %(receipt)s::jsonb
 WHERE id = %(ship)s::bigint AND verdict IS NULL AND undone_at IS NULL RETURNING id;

-- name: undo_ship
UPDATE ships SET undone_by = %(by)s::text, undone_at = now() WHERE project_id = %(project)s::bigint AND undone_at IS NULL RETURNING id;

-- name: tell_ship
UPDATE repo_holds h SET reason = %(reason)s::text FROM repos r
 WHERE r.id = h.repo_id AND r.project_id = %(project)s::bigint AND h.halt = 'ship' AND h.released_at IS NULL;

-- name: security_reviewed
-- Done stories of a repository, whether a security-reviewer read what landed of each, and the findings that it was given.
SELECT i.story_id,
       EXISTS (SELECT 1 FROM journal j WHERE j.item_id = i.id AND j.step = 'review_security' AND j.status = 'done') AS reviewed,
       (SELECT j.output -> 'findings' FROM journal j WHERE j.item_id = i.id AND j.step = 'sast' AND j.status = 'done'
         ORDER BY j.run_no DESC, j.done_at DESC LIMIT 1) AS findings
  FROM work_items i WHERE i.repo_id = %(repo)s::bigint AND i.state = 'resting' AND i.phase = 'done' ORDER BY i.id;
