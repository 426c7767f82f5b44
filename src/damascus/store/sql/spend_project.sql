-- One walk along one index.
SELECT coalesce(sum(tokens), 0)::bigint AS tokens, sum(microdollars)::bigint AS microdollars,
       coalesce(sum(tokens) FILTER (WHERE microdollars IS NULL), 0)::bigint AS unpriced_tokens
  FROM spending WHERE project_id = %(project)s::bigint
