-- The claim of a worker that says which schema it knows. Outside of it `looked` is -1 and nothing is claimed.
CREATE OR REPLACE FUNCTION claim_within(p_low integer, p_high integer,
                             p_project bigint, p_worker text, p_count integer, p_lease interval, p_look integer)
RETURNS TABLE (item_id bigint, looked integer) LANGUAGE plpgsql AS $$
BEGIN
    -- usually nothing newer is there: one look at an index tells
    IF (SELECT max(version) FROM schema_migrations) BETWEEN p_low AND p_high OR schema_fits(p_low, p_high) THEN
        RETURN QUERY SELECT c.item_id, c.looked FROM claim_items(p_project, p_worker, p_count, p_lease, p_look) c;
    ELSE
        RETURN QUERY SELECT NULL::bigint, -1;
    END IF;
END $$;
