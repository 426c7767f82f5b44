-- p_events: [[kind, body], …]
CREATE OR REPLACE FUNCTION write_events(p_project bigint, p_item bigint, p_events jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    FOR n IN 0 .. jsonb_array_length(p_events) - 1 LOOP
        INSERT INTO events_outbox (project_id, item_id, kind, body)
            VALUES (p_project, p_item, p_events -> n ->> 0, p_events -> n -> 1);
    END LOOP;
END $$;
