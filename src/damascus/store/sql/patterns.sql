-- Patterns of the library: what agents were offered and applied, and decisions that may become one.

-- name: offer_pattern
-- Once: whoever is sent again is offered nothing new, and what was applied stays so.
INSERT INTO pattern_uses (item_id, pattern, title, state)
VALUES (%(item)s::bigint, %(pattern)s::text, %(title)s::text, 'offered') ON CONFLICT DO NOTHING RETURNING pattern;

-- name: apply_pattern
INSERT INTO pattern_uses AS known (item_id, pattern, title, state)
VALUES (%(item)s::bigint, %(pattern)s::text, %(title)s::text, 'applied')
ON CONFLICT (item_id, pattern) DO UPDATE SET state = 'applied' WHERE known.state <> 'applied' RETURNING pattern;

-- name: patterns_of
SELECT pattern, title, state FROM pattern_uses WHERE item_id = %(item)s::bigint ORDER BY state, pattern;

-- name: pattern_candidates
-- Decisions that name a pattern and that nobody has made one yet.
SELECT d.number, d.title, d.context, d.decision, d.trade_off, d.pattern, d.made_at, i.story_id
  FROM decisions d JOIN work_items i ON i.id = d.item_id
 WHERE d.project_id = %(project)s::bigint AND d.pattern <> '' AND d.accepted_by IS NULL ORDER BY d.number;

-- name: decision
SELECT d.number, d.title, d.context, d.decision, d.trade_off, d.pattern, d.made_at, d.accepted_by, d.item_id, i.story_id,
       i.spec, i.merged_commit
  FROM decisions d JOIN work_items i ON i.id = d.item_id
 WHERE d.project_id = %(project)s::bigint AND d.number = %(number)s::int;

-- name: accept_decision
UPDATE decisions SET accepted_by = %(by)s::text
 WHERE project_id = %(project)s::bigint AND number = %(number)s::int AND accepted_by IS NULL RETURNING number;
