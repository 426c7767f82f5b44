SELECT model, tokens, microdollars FROM spending WHERE project_id = %(project)s::bigint AND at >= %(since)s::timestamptz
