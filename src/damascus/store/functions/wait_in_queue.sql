-- Who waits for its turn looked at the queue some time ago: if it changed meanwhile, there is nothing to wait for.
CREATE OR REPLACE FUNCTION wait_in_queue(p_repo bigint, p_target text, p_item bigint, p_version bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    now_at bigint;
BEGIN
    SELECT version INTO now_at FROM queues WHERE repo_id = p_repo AND target = p_target FOR UPDATE;
    IF now_at IS DISTINCT FROM p_version THEN
        UPDATE work_items SET state = 'ready', wait_kind = NULL, wait_key = NULL, not_before = NULL WHERE id = p_item;
    END IF;
END $$;
