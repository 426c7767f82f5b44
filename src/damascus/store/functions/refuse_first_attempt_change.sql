-- Nothing may change it afterwards.
CREATE OR REPLACE FUNCTION refuse_first_attempt_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'first_attempted_at of item % is never overwritten', OLD.id;
END $$;

CREATE OR REPLACE TRIGGER first_attempt_stays BEFORE UPDATE OF first_attempted_at ON work_items
    FOR EACH ROW WHEN (OLD.first_attempted_at IS NOT NULL AND NEW.first_attempted_at IS DISTINCT FROM OLD.first_attempted_at)
    EXECUTE FUNCTION refuse_first_attempt_change();
