-- The fenced form, in one round trip: what a worker writes when an effect is done.
CREATE OR REPLACE FUNCTION fenced_dones(p_item bigint, p_fence bigint, p_run integer, p_phase text, p_project bigint, p_dones jsonb)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM assert_fence(p_item, p_fence);
    PERFORM write_dones(p_item, p_fence, p_run, p_phase, p_project, p_dones);
END $$;
