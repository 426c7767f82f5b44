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
          FROM budget_raises WHERE project_id = %(project)s::bigint AND item_id IN (0, %(item)s::bigint)) raises
