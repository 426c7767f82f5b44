SELECT output FROM journal WHERE item_id = %(item)s::bigint AND step = %(step)s::text AND status = 'done'
 ORDER BY run_no DESC, done_at DESC LIMIT 1
