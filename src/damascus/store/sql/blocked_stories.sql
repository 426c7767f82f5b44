SELECT story_id FROM work_items
 WHERE project_id = %(project)s::bigint AND phase = 'blocked'
   AND (%(verdict)s::text = '' OR last_verdict = %(verdict)s::text) ORDER BY priority, id
