SELECT release_landing(%(item)s::bigint)
