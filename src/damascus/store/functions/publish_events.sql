-- Numbers up to p_most committed events, oldest id first, and wakes whoever listens, once. How many; 0 also when another
-- publisher is at it. A writer locks the table before it draws an id and lets go after its commit can be seen: so what was
-- drawn before we looked, by nobody who still holds that lock, is there or never will be. Open transactions that write no
-- events, here or in other databases of the cluster, are not waited for.
CREATE OR REPLACE FUNCTION publish_events(p_most integer) RETURNS integer LANGUAGE plpgsql AS $$
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
