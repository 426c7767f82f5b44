-- Ends a halt of the whole project: who waited for it looks again. True: it was halted.
CREATE OR REPLACE FUNCTION end_halt(p_project bigint, p_halt text, p_by text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    r record;
    news boolean := false;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('damascus claim', p_project));
    FOR r IN UPDATE repo_holds h SET released_at = now() FROM repos o
              WHERE o.id = h.repo_id AND o.project_id = p_project AND h.halt = p_halt AND h.released_at IS NULL RETURNING h.repo_id
    LOOP
        PERFORM wake('hold', r.repo_id::text, 2147483647);
        INSERT INTO events_outbox (project_id, kind, body)
            VALUES (p_project, 'repo.released', jsonb_build_object('repo', r.repo_id));
        news := true;
    END LOOP;
    IF news THEN
        UPDATE human_issues SET closed_at = now(), answer = 'the halt is over'
         WHERE project_id = p_project AND closed_at IS NULL AND about ->> 'about' = p_halt;
        INSERT INTO events_outbox (project_id, kind, body)
            VALUES (p_project, 'builder.resumed', jsonb_build_object('reason', p_halt, 'by', p_by));
    END IF;
    RETURN news;
END $$;
