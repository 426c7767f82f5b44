-- What CI says of main's tip with these upstream tips: green, red, pending, or NULL where there is no CI that could tell.
-- Returns what is new: 'red' (it was not), 'green' (it was red), or NULL. Under the claim's lock, so that no one who begins to
-- wait at this moment is forgotten.
CREATE OR REPLACE FUNCTION judge_repo(p_repo bigint, p_sha text, p_with jsonb, p_state text, p_text text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    r repos;
BEGIN
    SELECT * INTO r FROM repos WHERE id = p_repo;
    PERFORM pg_advisory_xact_lock(hashtextextended('damascus claim', r.project_id));
    SELECT * INTO r FROM repos WHERE id = p_repo FOR NO KEY UPDATE;
    UPDATE repos SET main_sha = p_sha WHERE id = p_repo AND main_sha IS DISTINCT FROM p_sha;
    UPDATE repos SET ci_state = p_state, ci_sha = p_sha, ci_with = p_with, ci_text = p_text,
           green_sha = CASE WHEN p_state = 'green' THEN p_sha ELSE green_sha END,
           green_with = CASE WHEN p_state = 'green' THEN p_with ELSE green_with END,
           red_since = CASE WHEN p_state = 'red' THEN coalesce(red_since, now()) WHEN p_state = 'pending' THEN red_since END
     WHERE id = p_repo;
    IF p_state IS NULL OR p_state = 'green' THEN
        PERFORM wake('upstream', p_repo::text, 2147483647);
    END IF;
    RETURN CASE WHEN p_state = 'red' AND r.red_since IS NULL THEN 'red'
                WHEN coalesce(p_state, 'green') = 'green' AND r.red_since IS NOT NULL THEN 'green' END;
END $$;
