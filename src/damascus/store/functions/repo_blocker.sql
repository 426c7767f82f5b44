-- Why an item can't start in its repository: a kind of wait and its key. No kind: it can.
-- 1. An upstream repository is not green: nothing that depends on it starts or goes on.
-- 2. A story works in a repository of its chain, above or below.
-- 3. Roots first: a story that is ready above goes before it, unless this one is overdue and has the earlier deadline.
-- 4. A story of its chain that waits and is long overdue: nobody with a later deadline slips in before it.
-- 5. As many stories as [repo] max_workers allows work in the repository.
-- Whoever is in the way is share-locked and looked at again, so that no settle in flight wakes before the item waits.
CREATE OR REPLACE FUNCTION repo_blocker(p_item work_items, p_mine bigint[], OUT kind text, OUT key text) LANGUAGE plpgsql AS $$
DECLARE
    above bigint[];
    chain bigint[];
    blocker bigint;
    most integer;
BEGIN
    SELECT array_agg(c.repo_id) FILTER (WHERE c.above), array_agg(c.repo_id) INTO above, chain FROM chain_of(p_item.repo_id) c;
    SELECT 'upstream', r.id INTO kind, key FROM repos r
     WHERE r.id = ANY (above) AND (r.ci_state = 'pending' OR r.red_since IS NOT NULL) ORDER BY r.id LIMIT 1;
    IF kind IS NOT NULL OR EXISTS (SELECT 1 FROM repo_locks l WHERE l.item_id = p_item.id AND l.works) THEN
        RETURN;
    END IF;
    WHILE chain IS NOT NULL LOOP
        blocker := in_the_way(p_item, above, chain, p_mine, NULL);
        EXIT WHEN blocker IS NULL;
        PERFORM 1 FROM work_items w WHERE w.id = blocker FOR SHARE;
        IF in_the_way(p_item, above, chain, p_mine, blocker) = blocker THEN
            kind := 'chain';
            key := blocker;
            RETURN;
        END IF;
    END LOOP;
    SELECT r.max_workers INTO most FROM repos r WHERE r.id = p_item.repo_id;
    IF most > 0 AND (SELECT count(*) FROM repo_locks l WHERE l.repo_id = p_item.repo_id AND l.works) >= most THEN
        PERFORM 1 FROM work_items w WHERE w.id IN (
            SELECT l.item_id FROM repo_locks l WHERE l.repo_id = p_item.repo_id AND l.works) ORDER BY w.id FOR SHARE;
        IF (SELECT count(*) FROM repo_locks l WHERE l.repo_id = p_item.repo_id AND l.works) >= most THEN
            kind := 'repo_full';
            key := p_item.repo_id;
        END IF;
    END IF;
END $$;
