-- What a person wants to see first: what moves, what needs them, then the heads of the lines that wait.
-- Each part is a short walk along one index, however long the queue is.
SELECT id FROM (
    (SELECT id, 0 AS part, 0 AS line FROM work_items
      WHERE project_id = %(project)s::bigint AND state = 'leased' LIMIT %(limit)s::int)
    UNION ALL
    (SELECT id, 1, 0 FROM work_items
      WHERE project_id = %(project)s::bigint AND state = 'resting' AND phase = 'blocked'
      ORDER BY updated_at DESC LIMIT %(limit)s::int)
    UNION ALL
    (SELECT id, 2, 0 FROM work_items
      WHERE project_id = %(project)s::bigint AND state = 'resting' AND phase = 'stale'
      ORDER BY updated_at DESC LIMIT %(limit)s::int)
    UNION ALL
    (SELECT w.id, 3, k.n
       FROM unnest(ARRAY['dirty', 'hold', 'ci', 'landing', 'backoff', 'budget', 'upstream', 'chain', 'repo_full', 'dependency', 'scope', 'behind'])
            WITH ORDINALITY AS k(kind, n),
            LATERAL (SELECT id FROM work_items WHERE state = 'waiting' AND wait_kind = k.kind
                        AND project_id = %(project)s::bigint
                      ORDER BY wait_key, deadline_at, id LIMIT 10) w)
    UNION ALL
    (SELECT id, 4, 0 FROM work_items WHERE project_id = %(project)s::bigint AND state = 'ready'
      ORDER BY deadline_at, id LIMIT %(ready)s::int)
    UNION ALL
    (SELECT id, 5, 0 FROM work_items
      WHERE project_id = %(project)s::bigint AND state = 'resting' AND phase IN ('done', 'cancelled')
        AND updated_at >= %(since)s::timestamptz
      ORDER BY updated_at DESC LIMIT %(limit)s::int)
) picked ORDER BY part, line, id
