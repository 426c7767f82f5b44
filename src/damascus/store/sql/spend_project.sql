-- One walk along one index. What has no price is told by its model.
SELECT coalesce(sum(tokens), 0)::bigint AS tokens, sum(microdollars)::bigint AS microdollars,
       coalesce(sum(tokens) FILTER (WHERE microdollars IS NULL), 0)::bigint AS unpriced_tokens,
       coalesce(array_agg(DISTINCT model) FILTER (WHERE microdollars IS NULL AND tokens > 0), '{}') AS unpriced
  FROM spending WHERE project_id = %(project)s::bigint
