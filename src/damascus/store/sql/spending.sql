-- What agent steps may spend and have spent (store/spending.py).

-- name: spend_lock
-- Two steps that reserve from one project's budget do so one after the other.
SELECT pg_advisory_xact_lock(hashtextextended('damascus budget', %(project)s::bigint));

-- name: spend_standing
-- What a story and, if `whole`, its project have spent and reserved. What a dead worker's step left is settled on the way.
WITH left_over AS (
    UPDATE spending SET state = 'settled'
     WHERE item_id = %(item)s::bigint AND state = 'reserved' AND fence < %(fence)s::bigint)
SELECT story.tokens AS story_tokens, story.microdollars AS story_microdollars,
       project.tokens AS project_tokens, project.microdollars AS project_microdollars,
       others.tokens AS reserved_tokens, others.microdollars AS reserved_microdollars, raises.known AS raises
  FROM (SELECT coalesce(sum(tokens), 0)::bigint AS tokens, coalesce(sum(microdollars), 0)::bigint AS microdollars
          FROM spending WHERE item_id = %(item)s::bigint) story,
       (SELECT coalesce(sum(tokens), 0)::bigint AS tokens, coalesce(sum(microdollars), 0)::bigint AS microdollars
          FROM spending WHERE project_id = %(project)s::bigint AND %(whole)s::bool) project,
       (SELECT coalesce(sum(greatest(s.reserved_tokens - s.tokens, 0)), 0)::bigint AS tokens,
               coalesce(sum(greatest(s.reserved_microdollars - coalesce(s.microdollars, 0), 0)), 0)::bigint AS microdollars
          FROM spending s JOIN leases l ON l.item_id = s.item_id AND l.fence = s.fence
         WHERE s.project_id = %(project)s::bigint AND s.state = 'reserved' AND s.item_id <> %(item)s::bigint
           AND %(whole)s::bool) others,
       (SELECT coalesce(jsonb_object_agg(CASE item_id WHEN 0 THEN 'project ' ELSE 'story ' END || unit, amount), '{}') AS known
          FROM budget_raises WHERE project_id = %(project)s::bigint AND item_id IN (0, %(item)s::bigint)) raises;

-- name: spend_reserve
INSERT INTO spending (project_id, item_id, run_no, step, key, fence, role, model, reserved_tokens, reserved_microdollars)
VALUES (%(project)s::bigint, %(item)s::bigint, %(run)s::int, %(step)s::text, %(key)s::text, %(fence)s::bigint, %(role)s::text,
        %(model)s::text, %(tokens)s::bigint, %(microdollars)s::bigint)
ON CONFLICT (item_id, run_no, step, key, fence) DO NOTHING;

-- name: spend_record
-- By the dispatch itself, held or not: what it has used is true also when its item was taken over. Counters only grow.
UPDATE spending SET input_tokens = greatest(input_tokens, %(input)s::bigint), output_tokens = greatest(output_tokens, %(output)s::bigint),
       cached_tokens = greatest(cached_tokens, %(cached)s::bigint), turns = greatest(turns, %(turns)s::int),
       microdollars = greatest(microdollars, %(microdollars)s::bigint), model = %(model)s::text,
       state = CASE WHEN %(final)s::bool THEN 'settled' ELSE state END
 WHERE item_id = %(item)s::bigint AND run_no = %(run)s::int AND step = %(step)s::text AND key = %(key)s::text
   AND fence = %(fence)s::bigint;

-- name: spend_raise
INSERT INTO budget_raises (project_id, item_id, unit, amount)
VALUES (%(project)s::bigint, %(item)s::bigint, %(unit)s::text, %(amount)s::bigint)
ON CONFLICT (project_id, item_id, unit) DO UPDATE SET amount = excluded.amount, at = now();

-- name: spend_project
-- One walk along one index.
SELECT coalesce(sum(tokens), 0)::bigint AS tokens, sum(microdollars)::bigint AS microdollars,
       coalesce(sum(tokens) FILTER (WHERE microdollars IS NULL), 0)::bigint AS unpriced_tokens
  FROM spending WHERE project_id = %(project)s::bigint;

-- name: spend_story
SELECT run_no, step, key, role, model, state, reserved_tokens, reserved_microdollars, input_tokens, output_tokens, cached_tokens,
       tokens, turns, microdollars, at
  FROM spending WHERE item_id = %(item)s::bigint ORDER BY at, fence;

-- name: spend_merged
-- What each of the latest merged stories cost, all its tries together. NULL: a model without a price had a part in it.
SELECT s.tokens, CASE WHEN s.unpriced THEN NULL ELSE s.microdollars END AS microdollars
  FROM (SELECT id FROM work_items WHERE project_id = %(project)s::bigint AND state = 'resting' AND phase = 'done'
         ORDER BY updated_at DESC LIMIT %(limit)s::int) m,
       LATERAL (SELECT coalesce(sum(tokens), 0)::bigint AS tokens, coalesce(sum(microdollars), 0)::bigint AS microdollars,
                       coalesce(bool_or(microdollars IS NULL AND tokens > 0), false) AS unpriced
                  FROM spending WHERE item_id = m.id) s;

-- name: spend_unpriced
-- The models that were used and have no price.
SELECT DISTINCT model FROM spending
 WHERE project_id = %(project)s::bigint AND microdollars IS NULL AND tokens > 0 ORDER BY model;

-- name: spend_since
SELECT model, tokens, microdollars FROM spending WHERE project_id = %(project)s::bigint AND at >= %(since)s::timestamptz;
