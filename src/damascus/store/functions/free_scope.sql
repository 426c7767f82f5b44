-- Frees a story's files and wakes whoever waited for them. Of stories that want exactly the same files one
-- stands in line for the blocker ('scope') and the others behind it ('behind'), so freeing a file that
-- 100,000 stories want wakes one, not all.
CREATE OR REPLACE FUNCTION free_scope(p_item bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    c work_items;
    look record;  -- behind the row's lock: whoever begins to wait for its files has locked it before
BEGIN
    SELECT * INTO c FROM work_items w WHERE w.id = p_item FOR NO KEY UPDATE;
    SELECT EXISTS (SELECT 1 FROM repos r WHERE r.project_id = c.project_id AND (r.joined OR r.max_workers > 0)) AS graph,
           EXISTS (SELECT 1 FROM scope_barriers b WHERE b.item_id = p_item) AS barred,
           EXISTS (SELECT 1 FROM work_items w
                    WHERE w.state = 'waiting' AND w.wait_kind = 'scope' AND w.wait_key = p_item::text) AS wanted,
           EXISTS (SELECT 1 FROM work_items w
                    WHERE w.state = 'waiting' AND w.wait_kind = 'behind' AND w.wait_key = same_scope(c.spans)) AS behind
      INTO look;
    DELETE FROM active_scopes WHERE item_id = p_item;
    IF look.barred THEN
        DELETE FROM scope_barriers WHERE item_id = p_item;
    END IF;
    IF look.wanted THEN
        PERFORM wake('scope', p_item::text, 2147483647);
    END IF;
    IF look.behind THEN
        PERFORM wake('behind', same_scope(c.spans), 1);
    END IF;
    IF look.graph THEN
        PERFORM free_repo(p_item, c.repo_id);
    END IF;
END $$;
