SELECT free_scope(%(item)s::bigint)
