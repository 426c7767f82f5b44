-- Has an older fence of this item ever meant to push? Then its worker may still be inside that push.
SELECT EXISTS (SELECT 1 FROM journal WHERE item_id = %(item)s::bigint AND step = 'push' AND fence < %(fence)s::bigint) AS older
