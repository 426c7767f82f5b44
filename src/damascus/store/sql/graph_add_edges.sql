INSERT INTO repo_edges (up, down) SELECT * FROM unnest(%(ups)s::bigint[], %(downs)s::bigint[]) ON CONFLICT DO NOTHING
