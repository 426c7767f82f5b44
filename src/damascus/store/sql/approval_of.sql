-- A person's word for exactly this change, in whichever run it was given; the latest.
SELECT output, done_at FROM journal WHERE item_id = %(item)s::bigint AND step = 'approved_change' AND status = 'done'
   AND key = %(change)s::text ORDER BY done_at DESC LIMIT 1
