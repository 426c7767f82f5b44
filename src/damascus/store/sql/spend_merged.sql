-- What each of the latest merged stories cost, all its tries together. NULL: a model without a price had a part in it.
SELECT s.tokens, CASE WHEN s.unpriced THEN NULL ELSE s.microdollars END AS microdollars
  FROM (SELECT id FROM work_items WHERE project_id = %(project)s::bigint AND state = 'resting' AND phase = 'done'
         ORDER BY updated_at DESC LIMIT %(limit)s::int) m,
       LATERAL (SELECT coalesce(sum(tokens), 0)::bigint AS tokens, coalesce(sum(microdollars), 0)::bigint AS microdollars,
                       coalesce(bool_or(microdollars IS NULL AND tokens > 0), false) AS unpriced
                  FROM spending WHERE item_id = m.id) s
