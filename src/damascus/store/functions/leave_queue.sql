-- The item leaves the queue. Landed: one more may be tested at once; red: half as many.
CREATE OR REPLACE FUNCTION leave_queue(p_item bigint, p_landed boolean) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    e queue_entries;
BEGIN
    SELECT * INTO e FROM queue_entries WHERE item_id = p_item;
    IF FOUND THEN
        UPDATE queues SET width = CASE WHEN p_landed THEN greatest(least(width + 1, most), width)
                                       WHEN e.state = 'red' THEN greatest(width / 2, 1) ELSE width END
         WHERE repo_id = e.repo_id AND target = e.target;
        DELETE FROM queue_entries WHERE item_id = p_item;
        PERFORM queue_changed(e.repo_id, e.target);
    END IF;
END $$;
