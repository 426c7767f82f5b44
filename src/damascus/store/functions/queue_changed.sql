-- Something changed: those in line look again, and where there is room the first who wait for a place come in.
CREATE OR REPLACE FUNCTION queue_changed(p_repo bigint, p_target text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    room integer;
BEGIN
    UPDATE queues SET version = version + 1 WHERE repo_id = p_repo AND target = p_target
    RETURNING least(width, most) - (SELECT count(*) FROM queue_entries e WHERE e.repo_id = p_repo AND e.target = p_target) INTO room;
    UPDATE work_items SET state = 'ready', wait_kind = NULL, wait_key = NULL, not_before = NULL
     WHERE id IN (SELECT w.id FROM work_items w JOIN queue_entries e ON e.item_id = w.id
                   WHERE e.repo_id = p_repo AND e.target = p_target AND w.state = 'waiting' AND w.wait_kind = 'landing'
                     FOR NO KEY UPDATE OF w);
    IF room > 0 THEN
        UPDATE work_items SET state = 'ready', wait_kind = NULL, wait_key = NULL, not_before = NULL
         WHERE id IN (SELECT w.id FROM work_items w WHERE w.state = 'waiting' AND w.wait_kind = 'landing'
                         AND w.wait_key = p_repo || ' ' || p_target
                       ORDER BY w.deadline_at, w.id LIMIT room FOR NO KEY UPDATE);
    END IF;
END $$;
