SELECT DISTINCT i.story_id FROM active_scopes a JOIN work_items i ON i.id = a.item_id, unnest(%(points)s::text[]) p
 WHERE a.item_id <> %(item)s::bigint AND a.span @> p ORDER BY i.story_id
