-- A person stops a repository and its chain: nothing of them starts, and who works there is shut out by the fence. Under the
-- project's claim lock, so that no claim slips in between.
CREATE OR REPLACE FUNCTION hold_repo(p_project bigint, p_repo bigint, p_reason text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    made bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('damascus claim', p_project));
    INSERT INTO repo_holds (repo_id, reason) VALUES (p_repo, p_reason) RETURNING id INTO made;
    WITH taken AS (
        DELETE FROM leases l USING work_items i WHERE i.id = l.item_id
           AND (i.repo_id = p_repo OR i.repo_id IN (SELECT c.repo_id FROM chain_of(p_repo) c)) RETURNING l.item_id)
    UPDATE work_items SET state = 'waiting', wait_kind = 'hold', wait_key = p_repo::text, fence = fence + 1,
           updated_at = now()
     WHERE id IN (SELECT item_id FROM taken);
    INSERT INTO events_outbox (project_id, kind, body)
        VALUES (p_project, 'repo.held', jsonb_build_object('repo', p_repo, 'hold', made, 'reason', p_reason));
    RETURN made;
END $$;
