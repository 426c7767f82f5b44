-- Ends every hold of a repository and wakes who waited for that; how many holds there were.
CREATE OR REPLACE FUNCTION release_repo(p_project bigint, p_repo bigint) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    ended integer;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('damascus claim', p_project));
    UPDATE repo_holds SET released_at = now() WHERE repo_id = p_repo AND released_at IS NULL;
    GET DIAGNOSTICS ended = ROW_COUNT;
    IF ended > 0 THEN
        PERFORM wake('hold', p_repo::text, 2147483647);
        INSERT INTO events_outbox (project_id, kind, body)
            VALUES (p_project, 'repo.released', jsonb_build_object('repo', p_repo));
    END IF;
    RETURN ended;
END $$;
