-- The run whose agent's work became the candidate.
SELECT max(run_no) AS run FROM journal WHERE item_id = %(item)s::bigint AND step = 'implement' AND status = 'done'
