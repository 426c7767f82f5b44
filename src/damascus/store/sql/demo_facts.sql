-- What each story came to, from rows, journal and events.
SELECT i.story_id, i.title, i.phase, i.merged_commit, i.pr_url,
       (SELECT count(*) FROM events_outbox e WHERE e.item_id = i.id AND e.kind = 'agent.started') AS tries,
       (SELECT count(*) FROM events_outbox e WHERE e.item_id = i.id AND e.kind = 'attempt.rejected'
           AND e.body ->> 'verdict' = 'rebase_conflict') AS conflicts,
       (SELECT count(*) FROM events_outbox e WHERE e.item_id = i.id AND e.kind = 'phase.transient_retry') AS outages,
       coalesce((SELECT jsonb_agg(DISTINCT t) FROM journal j, jsonb_array_elements(j.output -> 'results') r,
                 jsonb_array_elements(r -> 'red_tests') t WHERE j.item_id = i.id AND j.step = 'red'), '[]') AS red,
       coalesce((SELECT jsonb_agg(DISTINCT t) FROM journal j, jsonb_array_elements(j.output -> 'results') r,
                 jsonb_array_elements(r -> 'green_tests') t WHERE j.item_id = i.id AND j.step = 'verify'), '[]') AS green,
       extract(epoch FROM i.updated_at - i.first_attempted_at)::float8 AS seconds
  FROM work_items i WHERE i.project_id = %(project)s::bigint ORDER BY i.id
