-- The newest result of each step in the item's earlier runs of phase build.
SELECT DISTINCT ON (step) step, run_no, output FROM journal
 WHERE item_id = %(item)s::bigint AND run_no < %(run)s::int AND status = 'done' AND step IN ('prepare', 'implement', 'rebase')
 ORDER BY step, run_no DESC, done_at DESC
