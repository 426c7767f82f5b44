-- Takes a place at the end for a commit that sits on the last one ahead, or puts another commit in the place that the item has.
-- 'full': no place; 'moved': somebody else is ahead now, so the commit sits on the wrong one.
CREATE OR REPLACE FUNCTION queue_put(p_repo bigint, p_target text, p_item bigint, p_base text, p_commit text, p_state text, p_most integer)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    places integer;
    mine bigint;
    ahead text;
BEGIN
    INSERT INTO queues (repo_id, target) VALUES (p_repo, p_target) ON CONFLICT DO NOTHING;
    UPDATE queues SET most = p_most WHERE repo_id = p_repo AND target = p_target RETURNING least(width, most) INTO places;
    SELECT pos INTO mine FROM queue_entries WHERE item_id = p_item;
    SELECT commit INTO ahead FROM queue_entries
     WHERE repo_id = p_repo AND target = p_target AND state <> 'red' AND pos < coalesce(mine, 9223372036854775807)
     ORDER BY pos DESC LIMIT 1;
    IF mine IS NULL AND (SELECT count(*) FROM queue_entries WHERE repo_id = p_repo AND target = p_target) >= places THEN
        RETURN 'full';
    END IF;
    IF ahead <> p_base THEN
        RETURN 'moved';
    END IF;
    IF mine IS NULL THEN
        INSERT INTO queue_entries (item_id, repo_id, target, base, commit, state)
            VALUES (p_item, p_repo, p_target, p_base, p_commit, p_state);
    ELSE
        UPDATE queue_entries SET base = p_base, commit = p_commit, state = p_state WHERE item_id = p_item;
    END IF;
    PERFORM queue_changed(p_repo, p_target);
    RETURN 'in';
END $$;
