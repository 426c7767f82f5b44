-- Main moved: until CI has told of it, neither this repository nor what depends on it is known to be green.
CREATE OR REPLACE FUNCTION main_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE repos SET ci_state = 'pending' WHERE ci_state <> 'pending'
       AND (id = NEW.id OR id IN (SELECT c.repo_id FROM chain_of(NEW.id) c WHERE NOT c.above));
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER main_moved AFTER UPDATE OF main_sha ON repos
    FOR EACH ROW WHEN (NEW.ci_state IS NOT NULL AND NEW.main_sha IS DISTINCT FROM OLD.main_sha) EXECUTE FUNCTION main_moved();
