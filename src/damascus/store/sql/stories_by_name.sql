SELECT i.id, i.story_id, i.phase, i.state, i.depends_on, i.spec_hash, encode(sha256(i.acceptance), 'hex') AS acceptance_hash,
       (SELECT e.body ->> 'spec' FROM events_outbox e
         WHERE e.item_id = i.id AND e.kind IN ('story.added', 'story.replaced') ORDER BY e.id DESC LIMIT 1) AS added_hash
  FROM work_items i
 WHERE i.project_id = %(project)s::bigint AND lower(i.story_id) = ANY (%(names)s::text[])
