DELETE FROM repo_edges WHERE down = ANY (%(repos)s::bigint[])
