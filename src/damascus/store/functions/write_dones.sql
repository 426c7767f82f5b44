-- Finished steps and the events that tell of them, first writer wins. p_dones: [{step, key, input, output, ago, events}].
CREATE OR REPLACE FUNCTION write_dones(p_item bigint, p_fence bigint, p_run integer, p_phase text, p_project bigint, p_dones jsonb)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    d jsonb;
BEGIN
    FOR d IN SELECT e FROM jsonb_array_elements(p_dones) e LOOP
        INSERT INTO journal (item_id, run_no, phase, step, key, status, fence, input, output, started_at, done_at)
        VALUES (p_item, p_run, p_phase, d ->> 'step', d ->> 'key', 'done', p_fence, d -> 'input', d -> 'output',
                clock_timestamp() - make_interval(secs => (d ->> 'ago')::float8), clock_timestamp())
        ON CONFLICT (item_id, run_no, step, key)
        DO UPDATE SET status = 'done', output = excluded.output, done_at = excluded.done_at, fence = excluded.fence
         WHERE journal.status = 'intent';
        PERFORM write_events(p_project, p_item, d -> 'events');
    END LOOP;
    IF p_dones <> '[]' THEN  -- rescues are counted in a row inside one step
        UPDATE work_items SET rescues = 0 WHERE id = p_item AND fence = p_fence AND rescues > 0;
    END IF;
END $$;
