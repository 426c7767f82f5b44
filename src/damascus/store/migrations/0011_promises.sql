-- What a story's row must always keep, as one call.
-- readable by: 7
--
-- PostgreSQL reads every CHECK of a table anew from its text for each statement that writes to it, and a story's row is
-- written several times in each phase. Each promise keeps its name.

CREATE FUNCTION keeps_promises(p_phase text, p_state text, p_wait_kind text, p_resume_phase text, p_merged_commit text,
                               p_pr_url text, p_budget_cycles integer, p_priority smallint) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    broken text := CASE
        WHEN (p_phase = 'blocked') <> (p_resume_phase IS NOT NULL) THEN 'blocked_resumes_somewhere'
        WHEN p_phase = 'done' AND p_merged_commit IS NULL THEN 'done_means_landed'
        WHEN (p_state = 'resting') <> (p_phase IN ('done', 'blocked', 'stale', 'cancelled')) THEN 'resting_phases'
        WHEN p_phase IN ('review', 'merge', 'done') AND p_pr_url IS NULL THEN 'review_needs_a_pull'
        WHEN (p_state = 'waiting') <> (p_wait_kind IS NOT NULL) THEN 'waiting_names_its_reason'
        WHEN p_phase NOT IN ('spec', 'build', 'review', 'merge', 'done', 'blocked', 'stale', 'cancelled')
            THEN 'work_items_phase_check'
        WHEN p_state NOT IN ('ready', 'leased', 'waiting', 'resting') THEN 'work_items_state_check'
        WHEN p_budget_cycles <= 0 THEN 'work_items_budget_cycles_check'
        WHEN p_priority NOT BETWEEN 0 AND 3 THEN 'work_items_priority_check'
    END;
BEGIN
    IF broken IS NOT NULL THEN
        RAISE check_violation USING
            MESSAGE = format('new row for relation "work_items" violates check constraint "%s"', broken),
            TABLE = 'work_items', CONSTRAINT = broken;
    END IF;
    RETURN true;
END $$;

ALTER TABLE work_items
    DROP CONSTRAINT blocked_resumes_somewhere,
    DROP CONSTRAINT done_means_landed,
    DROP CONSTRAINT resting_phases,
    DROP CONSTRAINT review_needs_a_pull,
    DROP CONSTRAINT waiting_names_its_reason,
    DROP CONSTRAINT work_items_phase_check,
    DROP CONSTRAINT work_items_state_check,
    DROP CONSTRAINT work_items_budget_cycles_check,
    DROP CONSTRAINT work_items_priority_check,
    ADD CONSTRAINT keeps_promises CHECK (
        keeps_promises(phase, state, wait_kind, resume_phase, merged_commit, pr_url, budget_cycles, priority));
