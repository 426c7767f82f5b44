-- A row was parked in a project with a graph: who stepped back for it looks again, and one who waits for the place it wanted.
CREATE OR REPLACE FUNCTION stepped_aside(p_item work_items) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM repo_locks l WHERE l.item_id = p_item.id) THEN
        PERFORM wake('chain', p_item.id::text, 2147483647);
    END IF;
    PERFORM wake('repo_full', p_item.repo_id::text, 1)
      FROM repos r WHERE r.id = p_item.repo_id AND r.max_workers > 0
       AND (SELECT count(*) FROM repo_locks l WHERE l.repo_id = r.id AND l.works) < r.max_workers;
END $$;
