SELECT e.up, e.down FROM repo_edges e JOIN repos r ON r.id = e.down WHERE r.project_id = %(project)s::bigint ORDER BY 1, 2
