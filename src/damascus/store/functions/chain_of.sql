-- Every repository that this one depends on (`above`) or that depends on it, through however many others.
CREATE OR REPLACE FUNCTION chain_of(p_repo bigint) RETURNS TABLE (repo_id bigint, above boolean) LANGUAGE sql STABLE AS $$
    WITH RECURSIVE ups(id) AS (
        SELECT e.up FROM repo_edges e WHERE e.down = p_repo
        UNION SELECT e.up FROM repo_edges e JOIN ups ON e.down = ups.id),
    downs(id) AS (
        SELECT e.down FROM repo_edges e WHERE e.up = p_repo
        UNION SELECT e.down FROM repo_edges e JOIN downs ON e.up = downs.id)
    SELECT id, true FROM ups UNION ALL SELECT id, false FROM downs
$$;
