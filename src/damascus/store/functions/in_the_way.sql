-- A story of the chain that an item must wait for; p_only: is it this one?
CREATE OR REPLACE FUNCTION in_the_way(p_item work_items, p_above bigint[], p_chain bigint[], p_mine bigint[], p_only bigint)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    found bigint;
    overdue boolean := p_item.deadline_at <= now();
BEGIN
    SELECT l.item_id INTO found FROM repo_locks l
     WHERE (l.repo_id = p_item.repo_id AND NOT l.works OR l.repo_id = ANY (p_chain) AND l.works)
       AND l.item_id <> p_item.id AND (p_only IS NULL OR l.item_id = p_only)
     ORDER BY l.item_id LIMIT 1;
    IF found IS NULL THEN  -- those that lock_begun could not give a lock: they began beside each other, before there was an edge
        SELECT w.id INTO found FROM active_scopes a JOIN work_items w ON w.id = a.item_id
         WHERE w.repo_id = ANY (p_chain) AND w.state IN ('leased', 'waiting') AND (p_only IS NULL OR w.id = p_only)
           AND coalesce(w.wait_kind, '') NOT IN ('chain', 'upstream', 'repo_full')
         ORDER BY w.id LIMIT 1;
    END IF;
    IF found IS NULL AND p_above IS NOT NULL THEN
        SELECT w.id INTO found FROM work_items w
         WHERE w.project_id = p_item.project_id AND w.state = 'ready' AND w.phase <> 'spec' AND w.repo_id = ANY (p_above)
           AND (p_mine IS NULL OR w.repo_id = ANY (p_mine)) AND (w.deadline_at <= p_item.deadline_at OR NOT overdue)
           AND (p_only IS NULL OR w.id = p_only)
         ORDER BY w.deadline_at, w.id LIMIT 1;
    END IF;
    IF found IS NULL THEN
        SELECT w.id INTO found FROM work_items w
         WHERE w.state = 'waiting' AND w.wait_kind = 'chain' AND w.repo_id = ANY (p_chain)
           AND w.deadline_at < p_item.deadline_at AND w.deadline_at < now() - interval '30 minutes'
           AND (p_only IS NULL OR w.id = p_only)
         ORDER BY w.deadline_at, w.id LIMIT 1;
    END IF;
    RETURN found;
END $$;
