-- First statement of every worker transaction. The fence alone is safety: an expired lease that nobody took
-- still holds. NO KEY UPDATE, because share locks deadlock with the worker's own second transaction.
CREATE OR REPLACE FUNCTION assert_fence(p_item bigint, p_fence bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM leases WHERE item_id = p_item AND fence = p_fence FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'item % is no longer held with fence %', p_item, p_fence USING ERRCODE = 'DM001';
    END IF;
END $$;
