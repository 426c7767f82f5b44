-- Those at work that have no lock yet: they began before the graph was what it is. And those that have one and are not at work
-- any more: they ended while it became so. Only under the claim's lock.
CREATE OR REPLACE FUNCTION lock_begun(p_project bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM free_repo(w.id, w.repo_id) FROM work_items w
     WHERE w.project_id = p_project AND w.id IN (
               SELECT l.item_id FROM repo_locks l
                WHERE NOT EXISTS (SELECT 1 FROM active_scopes a WHERE a.item_id = l.item_id));
    INSERT INTO repo_locks (item_id, repo_id, works)
    SELECT w.id, l.repo_id, l.works
      FROM (SELECT DISTINCT a.item_id FROM active_scopes a
             WHERE NOT EXISTS (SELECT 1 FROM repo_locks k WHERE k.item_id = a.item_id AND k.works)) a
      JOIN work_items w ON w.id = a.item_id
     CROSS JOIN LATERAL (SELECT w.repo_id, true AS works UNION ALL SELECT c.repo_id, false FROM chain_of(w.repo_id) c) l
     WHERE w.project_id = p_project AND w.state IN ('leased', 'waiting')
       AND coalesce(w.wait_kind, '') NOT IN ('chain', 'upstream', 'repo_full')
     ORDER BY w.deadline_at, w.id, l.works DESC
    ON CONFLICT DO NOTHING;
END $$;
