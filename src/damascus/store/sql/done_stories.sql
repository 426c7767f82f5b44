SELECT i.id, i.story_id, i.merged_commit,
       EXISTS (SELECT 1 FROM events_outbox e WHERE e.item_id = i.id AND e.kind = 'story.not_on_main') AS alarmed,
       EXISTS (SELECT 1 FROM events_outbox e WHERE e.item_id = i.id AND e.kind = 'story.reverted') AS reverted
  FROM work_items i WHERE i.repo_id = %(repo)s::bigint AND i.phase = 'done'
 ORDER BY i.updated_at DESC LIMIT 500
