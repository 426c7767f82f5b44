-- Lets up to p_limit items go that wait for exactly this, the earliest deadline first. How many it were.
CREATE OR REPLACE FUNCTION wake(p_kind text, p_key text, p_limit integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    woken integer;
BEGIN
    UPDATE work_items SET state = 'ready', wait_kind = NULL, wait_key = NULL, not_before = NULL
     WHERE id IN (SELECT id FROM work_items
                   WHERE state = 'waiting' AND wait_kind = p_kind AND wait_key = p_key
                   ORDER BY deadline_at, id LIMIT p_limit FOR NO KEY UPDATE);
    GET DIAGNOSTICS woken = ROW_COUNT;
    RETURN woken;
END $$;
