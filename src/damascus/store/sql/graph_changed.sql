SELECT graph_changed(%(project)s::bigint)
