-- Takes items from workers that are gone: the fence grows, so what the old one still does is refused.
CREATE OR REPLACE FUNCTION rescue_item(p_item bigint, p_fence bigint, p_limit integer, p_why text)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    c work_items;
    held text;
    asked text;
BEGIN
    DELETE FROM leases WHERE item_id = p_item AND fence = p_fence RETURNING worker_id INTO held;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    UPDATE work_items SET fence = fence + 1, rescues = rescues + 1, state = 'ready', updated_at = now()
     WHERE id = p_item RETURNING * INTO c;
    INSERT INTO events_outbox (project_id, item_id, kind, body)
        VALUES (c.project_id, c.id, 'item.rescued',
                jsonb_build_object('worker', held, 'why', p_why, 'rescues', c.rescues, 'fence', c.fence));
    IF c.rescues >= p_limit THEN
        UPDATE work_items SET phase = 'blocked', state = 'resting', last_verdict = 'worker_crash',
               resume_phase = CASE WHEN c.phase = 'spec' THEN 'spec' ELSE 'build' END, run_no = run_no + 1
         WHERE id = p_item;
        PERFORM free_scope(p_item);
        PERFORM leave_queue(p_item, false);
        DELETE FROM worker_records WHERE item_id = p_item;
        asked := format('%s took its worker down %s times in a row in the same step. What should happen?',
                        c.story_id, c.rescues);
        INSERT INTO events_outbox (project_id, item_id, kind, body)
            VALUES (c.project_id, c.id, 'blocked.worker_crash', jsonb_build_object('rescues', c.rescues)),
                   (c.project_id, c.id, 'phase.transitioned', jsonb_build_object('from', c.phase, 'to', 'blocked')),
                   (c.project_id, c.id, 'issue.opened', jsonb_build_object('question', asked));
        INSERT INTO human_issues (project_id, item_id, question, options)
            VALUES (c.project_id, c.id, asked,
                    ARRAY['retry with a new budget', 'edit the spec and add it again', 'cancel the story']);
        RETURN 'blocked';
    END IF;
    RETURN 'ready';
END $$;
