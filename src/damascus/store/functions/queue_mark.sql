-- What the tests of exactly this commit said.
CREATE OR REPLACE FUNCTION queue_mark(p_item bigint, p_commit text, p_state text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    q record;
BEGIN
    SELECT repo_id, target INTO q FROM queue_entries WHERE item_id = p_item AND commit = p_commit AND state <> p_state;
    IF FOUND THEN
        PERFORM 1 FROM queues WHERE repo_id = q.repo_id AND target = q.target FOR UPDATE;
        UPDATE queue_entries SET state = p_state WHERE item_id = p_item AND commit = p_commit;
        PERFORM queue_changed(q.repo_id, q.target);
    END IF;
END $$;
