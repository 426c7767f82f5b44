-- Ends every hold of a repository and wakes who waited for that; how many holds there were. A halt ends in the whole project, but
-- for SHIP, which a person takes back by itself.
CREATE OR REPLACE FUNCTION release_repo(p_project bigint, p_repo bigint) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    ended integer;
    halted text;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('damascus claim', p_project));
    SELECT count(*) INTO ended FROM repo_holds
     WHERE repo_id = p_repo AND released_at IS NULL AND halt IS DISTINCT FROM 'ship';
    FOR halted IN SELECT DISTINCT halt FROM repo_holds WHERE repo_id = p_repo AND released_at IS NULL AND halt <> 'ship' LOOP
        PERFORM end_halt(p_project, halted, 'a person');
    END LOOP;
    UPDATE repo_holds SET released_at = now() WHERE repo_id = p_repo AND released_at IS NULL AND halt IS NULL;
    IF FOUND THEN
        PERFORM wake('hold', p_repo::text, 2147483647);
        INSERT INTO events_outbox (project_id, kind, body)
            VALUES (p_project, 'repo.released', jsonb_build_object('repo', p_repo));
    END IF;
    RETURN ended;
END $$;
