-- Who holds a file that this item wants? NULL: nobody. Waits for a settle in flight of the blocker.
CREATE OR REPLACE FUNCTION scope_blocker(p_item work_items) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    blocker bigint;
BEGIN
    LOOP
        SELECT a.item_id INTO blocker FROM unnest(p_item.spans) s JOIN active_scopes a ON a.span && s
         WHERE a.item_id <> p_item.id LIMIT 1;
        IF blocker IS NULL THEN
            SELECT b.item_id INTO blocker FROM unnest(p_item.spans) s JOIN scope_barriers b ON b.span && s
             WHERE b.item_id <> p_item.id AND b.deadline_at < p_item.deadline_at LIMIT 1;
        END IF;
        IF blocker IS NULL THEN
            RETURN NULL;
        END IF;
        PERFORM 1 FROM work_items WHERE id = blocker FOR SHARE;
        IF EXISTS (SELECT 1 FROM active_scopes WHERE item_id = blocker)
           OR EXISTS (SELECT 1 FROM scope_barriers WHERE item_id = blocker) THEN
            RETURN blocker;
        END IF;
    END LOOP;
END $$;
