-- Does code that knows the schema from p_low to p_high work with this one? A newer migration says in its head
-- (`-- readable by: N`) which older code it leaves working; without that line, none.
CREATE OR REPLACE FUNCTION schema_fits(p_low integer, p_high integer) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT max(version) >= p_low AND bool_and(version <= p_high OR coalesce(readable_by, version) <= p_high)
      FROM schema_migrations
$$;
