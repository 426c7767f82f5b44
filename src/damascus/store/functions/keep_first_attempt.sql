-- A story was first worked on when it was first claimed.
CREATE OR REPLACE FUNCTION keep_first_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.first_attempted_at := coalesce(OLD.first_attempted_at, now());
    RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER first_attempt BEFORE UPDATE OF claims ON work_items
    FOR EACH ROW WHEN (NEW.claims > OLD.claims) EXECUTE FUNCTION keep_first_attempt();
