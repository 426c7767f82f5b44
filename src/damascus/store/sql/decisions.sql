-- What agents decided and assumed.

-- name: lock_records
-- Who numbers is alone until its transaction ends: no number is given twice, and none is left out.
SELECT pg_advisory_xact_lock(hashtextextended('damascus records', %(project)s::bigint));

-- name: record_decisions
INSERT INTO decisions (project_id, number, item_id, title, context, decision, trade_off, pattern)
SELECT %(project)s::bigint,
       (SELECT coalesce(max(number), 0) FROM decisions WHERE project_id = %(project)s::bigint)
           + row_number() OVER (ORDER BY n.place),
       %(item)s::bigint, n.told ->> 'title', n.told ->> 'context', n.told ->> 'decision', n.told ->> 'trade_off',
       n.told ->> 'pattern'
  FROM jsonb_array_elements(%(decisions)s::jsonb) WITH ORDINALITY AS n (told, place)
 WHERE NOT EXISTS (SELECT 1 FROM decisions d WHERE d.item_id = %(item)s::bigint AND d.title = n.told ->> 'title')
RETURNING number, title, pattern;

-- name: record_assumptions
INSERT INTO assumptions (project_id, number, item_id, assumption)
SELECT %(project)s::bigint,
       (SELECT coalesce(max(number), 0) FROM assumptions WHERE project_id = %(project)s::bigint)
           + row_number() OVER (ORDER BY n.place),
       %(item)s::bigint, n.told
  FROM unnest(%(assumptions)s::text[]) WITH ORDINALITY AS n (told, place)
 WHERE NOT EXISTS (SELECT 1 FROM assumptions a WHERE a.item_id = %(item)s::bigint AND a.assumption = n.told);

-- name: decisions_of
SELECT d.number, i.story_id AS task, d.made_at, d.title, d.context, d.decision, d.trade_off, d.pattern
  FROM decisions d JOIN work_items i ON i.id = d.item_id WHERE i.repo_id = %(repo)s::bigint ORDER BY d.number;

-- name: assumptions_of
SELECT a.number, i.story_id AS task, a.made_at, a.assumption
  FROM assumptions a JOIN work_items i ON i.id = a.item_id WHERE i.repo_id = %(repo)s::bigint ORDER BY a.number;
