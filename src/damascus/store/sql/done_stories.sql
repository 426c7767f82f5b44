SELECT i.id, i.story_id, i.merged_commit,
       EXISTS (SELECT 1 FROM events_outbox e WHERE e.item_id = i.id AND e.kind = 'story.not_on_main') AS alarmed,
       EXISTS (SELECT 1 FROM human_issues h WHERE h.item_id = i.id AND h.closed_at IS NULL) AS asked,
       EXISTS (SELECT 1 FROM events_outbox e WHERE e.item_id = i.id AND e.kind = 'story.reverted') AS reverted
  FROM work_items i WHERE i.repo_id = %(repo)s::bigint AND i.phase = 'done'
   AND (i.story_id = ANY (%(names)s::text[]) OR i.merged_commit = ANY (%(commits)s::text[]))
