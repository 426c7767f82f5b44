-- The graph has changed: locks are made anew, and whoever waited because of the old one looks again. Under the claim's lock.
-- A repository that is now part of a chain is not known to be green; of one that is no more, CI is not asked.
CREATE OR REPLACE FUNCTION graph_changed(p_project bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM repo_locks WHERE repo_id IN (SELECT r.id FROM repos r WHERE r.project_id = p_project);
    PERFORM lock_begun(p_project);
    UPDATE work_items SET state = 'ready', wait_kind = NULL, wait_key = NULL, not_before = NULL
     WHERE project_id = p_project AND state = 'waiting' AND wait_kind IN ('chain', 'repo_full', 'upstream');
    UPDATE repos r SET ci_state = 'pending' WHERE r.project_id = p_project AND r.ci_state IS NULL AND r.ci_sha IS NULL
       AND EXISTS (SELECT 1 FROM repo_edges e WHERE r.id IN (e.up, e.down));
    UPDATE repos r SET ci_state = NULL, ci_sha = NULL, red_since = NULL WHERE r.project_id = p_project AND r.ci_sha IS NOT NULL
       AND NOT EXISTS (SELECT 1 FROM repo_edges e WHERE r.id IN (e.up, e.down));
END $$;
