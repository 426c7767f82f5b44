-- Stops every repository of a project for one of the five reasons (A2), once: a hold each, under the claim's lock. True: it is news.
CREATE OR REPLACE FUNCTION halt_project(p_project bigint, p_halt text, p_reason text, p_item bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    r record;
    made bigint;
    news boolean := false;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('damascus claim', p_project));
    FOR r IN SELECT id FROM repos WHERE project_id = p_project ORDER BY id LOOP
        IF NOT EXISTS (SELECT 1 FROM repo_holds h WHERE h.repo_id = r.id AND h.halt = p_halt AND h.released_at IS NULL) THEN
            made := hold_repo(p_project, r.id, p_reason);
            UPDATE repo_holds SET halt = p_halt WHERE id = made;
            news := true;
        END IF;
    END LOOP;
    IF news THEN
        INSERT INTO events_outbox (project_id, item_id, kind, body)
        VALUES (p_project, p_item, 'builder.halted', jsonb_build_object('reason', p_halt, 'message', p_reason,
                'story', (SELECT i.story_id FROM work_items i WHERE i.id = p_item)));
    END IF;
    RETURN news;
END $$;
