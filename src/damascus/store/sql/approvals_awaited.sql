-- Stories of a repository that wait for a person's approval, with the commit that is shown and the reviews that were applied.
SELECT i.story_id, i.branch, j.output ->> 'commit' AS commit,
       ARRAY (SELECT e.body ->> 'review' FROM events_outbox e WHERE e.item_id = i.id AND e.body ? 'review'
                 AND e.kind IN ('story.approved', 'story.sent_back')) AS applied
  FROM work_items i JOIN LATERAL (
    SELECT output FROM journal WHERE item_id = i.id AND run_no = i.run_no AND step = 'approval' AND status = 'done'
     ORDER BY done_at DESC LIMIT 1) j ON true
 WHERE i.repo_id = %(repo)s::bigint AND i.phase = 'blocked'
   AND EXISTS (SELECT FROM human_issues h WHERE h.item_id = i.id AND h.closed_at IS NULL) ORDER BY i.id
