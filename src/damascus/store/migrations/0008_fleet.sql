-- A fleet: any number of hosts on one database, upgraded host by host.
-- readable by: 7

-- ── the numbered stream ───────────────────────────────────────────────────────────────────────────────

-- Ids are drawn before their transaction commits, so a reader that follows ids misses what commits late. One publisher at
-- a time numbers what is committed; who follows these numbers misses nothing and sees nothing twice. A table of its own:
-- the writers of events pay nothing for it, neither an index nor a second version of their rows.
CREATE TABLE event_numbers (
    seq bigint PRIMARY KEY,
    event_id bigint NOT NULL UNIQUE
);

-- How far the publisher is. Every event up to `settled` has its number or was rolled back. `mark` will be settled once none
-- of `writers`, who wrote events when it was set, is still inside its transaction.
CREATE TABLE stream (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    last_seq bigint NOT NULL DEFAULT 0,
    settled bigint NOT NULL DEFAULT 0,
    mark bigint NOT NULL DEFAULT 0,
    writers text[] NOT NULL DEFAULT '{}'
);
INSERT INTO stream DEFAULT VALUES;

-- Numbers up to p_most committed events, oldest id first, and wakes whoever listens, once. How many; 0 also when another
-- publisher is at it. A writer locks the table before it draws an id and lets go after its commit can be seen: so what was
-- drawn before we looked, by nobody who still holds that lock, is there or never will be. Open transactions that write no
-- events, here or in other databases of the cluster, are not waited for.
CREATE FUNCTION publish_events(p_most integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    s stream;
    newest bigint;
    writing text[];
    reached bigint;
    last_id bigint;
    n integer;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('damascus stream', 0)) THEN
        RETURN 0;
    END IF;
    SELECT * INTO s FROM stream;
    SELECT CASE WHEN is_called THEN last_value ELSE 0 END INTO newest FROM events_outbox_id_seq;
    IF newest = s.settled THEN
        RETURN 0;
    END IF;
    writing := ARRAY (SELECT l.virtualtransaction FROM pg_locks l
                       WHERE l.locktype = 'relation' AND l.relation = 'events_outbox'::regclass
                         AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
                         AND l.mode = 'RowExclusiveLock');
    reached := CASE WHEN cardinality(writing) = 0 THEN newest WHEN s.writers && writing THEN s.settled ELSE s.mark END;
    WITH numbered AS (
        INSERT INTO event_numbers (seq, event_id)
        SELECT s.last_seq + row_number() OVER (ORDER BY found.id), found.id
          FROM (SELECT e.id FROM events_outbox e
                 WHERE e.id > s.settled AND (SELECT k.seq FROM event_numbers k WHERE k.event_id = e.id) IS NULL
                 ORDER BY e.id LIMIT p_most) found
        RETURNING event_id)
    SELECT count(*), max(event_id) INTO n, last_id FROM numbered;
    IF n = p_most THEN  -- there may be more behind it
        reached := least(reached, last_id);
    END IF;
    IF n > 0 OR reached > s.settled OR NOT s.writers && writing THEN
        UPDATE stream SET last_seq = s.last_seq + n, settled = greatest(reached, s.settled),
               mark = CASE WHEN s.writers && writing THEN s.mark ELSE newest END,
               writers = CASE WHEN s.writers && writing THEN s.writers ELSE writing END;
    END IF;
    IF n > 0 THEN
        NOTIFY damascus_events;
    END IF;
    RETURN n;
END $$;

-- ── which release may work here ───────────────────────────────────────────────────────────────────────

-- Does code that knows the schema from p_low to p_high work with this one? A newer migration says in its head
-- (`-- readable by: N`) which older code it leaves working; without that line, none.
CREATE FUNCTION schema_fits(p_low integer, p_high integer) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT max(version) >= p_low AND bool_and(version <= p_high OR coalesce(readable_by, version) <= p_high)
      FROM schema_migrations
$$;

-- The claim of a worker that says which schema it knows. Outside of it `looked` is -1 and nothing is claimed.
CREATE FUNCTION claim_within(p_low integer, p_high integer,
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

-- ── a worker without the repository's folder ──────────────────────────────────────────────────────────

-- Where the repository lives on its forge, for a host that has no folder of it, and the name of the variable with the forge's
-- token (never the token). NULL: only in its folder (the local forge). Two queues on one repository would land past each other.
ALTER TABLE repos ADD COLUMN forge_kind text, ADD COLUMN forge_url text, ADD COLUMN forge_token_env text;
CREATE UNIQUE INDEX repos_forge_url ON repos (forge_url);
