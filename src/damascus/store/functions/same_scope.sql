-- One word for a set of files, the same for every story that wants exactly these: the key of a wait `behind`.
CREATE OR REPLACE FUNCTION same_scope(p_spans scope_span[]) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN md5(p_spans::text);
END $$;
