-- After which number the newest `limit` events of a project (of one item) come.
SELECT coalesce(min(seq) - 1, (SELECT last_seq FROM stream)) AS after FROM (
    SELECT n.seq FROM event_numbers n JOIN events_outbox e ON e.id = n.event_id
     WHERE e.project_id = %(project)s::bigint AND (%(item)s::bigint IS NULL OR e.item_id = %(item)s::bigint)
     ORDER BY n.seq DESC LIMIT %(limit)s::int) newest
