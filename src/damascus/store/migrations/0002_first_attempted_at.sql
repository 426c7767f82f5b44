-- When was a story first worked on? Nullable, so that workers of the release before can go on; back-filled
-- from updated_at for stories that were claimed already. Set on the first claim, never overwritten (T4).

ALTER TABLE work_items ADD COLUMN first_attempted_at timestamptz;

UPDATE work_items SET first_attempted_at = updated_at WHERE claims > 0 AND first_attempted_at IS NULL;

CREATE FUNCTION keep_first_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.first_attempted_at := coalesce(OLD.first_attempted_at, now());
    RETURN NEW;
END $$;

CREATE TRIGGER first_attempt BEFORE UPDATE OF claims ON work_items
    FOR EACH ROW WHEN (NEW.claims > OLD.claims) EXECUTE FUNCTION keep_first_attempt();

-- Nothing may change it afterwards.
CREATE FUNCTION refuse_first_attempt_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'first_attempted_at of item % is never overwritten', OLD.id;
END $$;

CREATE TRIGGER first_attempt_stays BEFORE UPDATE OF first_attempted_at ON work_items
    FOR EACH ROW WHEN (OLD.first_attempted_at IS NOT NULL AND NEW.first_attempted_at IS DISTINCT FROM OLD.first_attempted_at)
    EXECUTE FUNCTION refuse_first_attempt_change();
