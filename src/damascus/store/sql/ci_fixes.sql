-- How often a red CI run went back to the agent since a person last gave the story a new budget.
SELECT count(*) AS fixes FROM events_outbox e
 WHERE e.item_id = %(item)s::bigint AND e.kind = 'attempt.rejected' AND e.body ->> 'verdict' = 'ci_failed'
   AND e.id > coalesce((SELECT max(r.id) FROM events_outbox r WHERE r.item_id = %(item)s::bigint
                           AND r.kind IN ('story.retried', 'story.replaced')), 0)
