-- What the window asks for on every page. Nothing that is finished is counted, and no count goes on for ever.

-- name: window_strip
SELECT r.ci_state,
       (SELECT count(*) FROM (SELECT FROM work_items WHERE project_id = %(project)s::bigint AND state = 'resting' AND phase = 'blocked'
                               LIMIT 1000) b) AS blocked,
       (SELECT count(*) FROM human_issues WHERE project_id = %(project)s::bigint AND closed_at IS NULL) AS questions,
       spent.tokens AS tokens_today, spent.microdollars AS microdollars_today
  FROM repos r,
       (SELECT coalesce(sum(tokens), 0)::bigint AS tokens, sum(microdollars)::bigint AS microdollars FROM spending
         WHERE project_id = %(project)s::bigint AND at >= %(today)s::timestamptz) spent
 WHERE r.id = %(repo)s::bigint;
