-- What a blocked story's run asks a person to approve. The engine wrote it with the question, in one transaction.
SELECT output ->> 'change' AS change, output ->> 'commit' AS commit FROM journal
 WHERE item_id = %(item)s::bigint AND run_no = %(run)s::int AND step = 'approval' AND status = 'done'
   AND NOT EXISTS (SELECT FROM journal d WHERE d.item_id = journal.item_id AND d.step = 'approved_change' AND d.key = journal.key)
 ORDER BY done_at DESC LIMIT 1
