-- Parks a claimed-for row behind a blocker; the blocker's row is share-locked by the caller, so a settle that
-- frees it either was seen or will see this row: no wake-up is lost.
CREATE OR REPLACE FUNCTION park_for_scope(p_item work_items, p_blocker bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    first_in_line record;
    grp text := same_scope(p_item.spans);
BEGIN
    SELECT w.id, w.deadline_at, w.wait_key INTO first_in_line FROM work_items w
     WHERE w.state = 'waiting' AND w.wait_kind = 'scope' AND w.project_id = p_item.project_id
       AND w.spans = p_item.spans AND w.wait_key = p_blocker::text
     ORDER BY w.deadline_at, w.id LIMIT 1 FOR NO KEY UPDATE;
    IF FOUND AND first_in_line.deadline_at <= p_item.deadline_at THEN
        UPDATE work_items SET state = 'waiting', wait_kind = 'behind', wait_key = grp WHERE id = p_item.id;
        RETURN;
    END IF;
    IF FOUND THEN
        UPDATE work_items SET wait_kind = 'behind', wait_key = grp WHERE id = first_in_line.id;
    END IF;
    UPDATE work_items SET state = 'waiting', wait_kind = 'scope', wait_key = p_blocker::text WHERE id = p_item.id;
    IF p_item.deadline_at < now() - interval '30 minutes'
       AND NOT EXISTS (SELECT 1 FROM scope_barriers b WHERE b.item_id = p_item.id) THEN
        INSERT INTO scope_barriers SELECT p_item.id, p_item.deadline_at, s FROM unnest(p_item.spans) s;
    END IF;
END $$;
