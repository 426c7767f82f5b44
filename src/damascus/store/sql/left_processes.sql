SELECT input -> 'process' AS process FROM journal
 WHERE item_id = %(item)s::bigint AND status = 'intent' AND jsonb_typeof(input -> 'process') = 'object'
