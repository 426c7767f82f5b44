-- Did an older fence of this item begin a push that nobody finished? Then its worker may still be inside it.
SELECT EXISTS (SELECT 1 FROM journal WHERE item_id = %(item)s::bigint AND step = 'push' AND status = 'intent'
                  AND fence < %(fence)s::bigint) AS older
