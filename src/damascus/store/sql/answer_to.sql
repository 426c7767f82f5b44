-- What a person answered when exactly this was shown. Only the start of a question is ours alone to word.
SELECT answer FROM human_issues WHERE item_id = %(item)s::bigint AND closed_at IS NOT NULL
   AND starts_with(question, %(start)s::text) AND answer = ANY (%(answers)s::text[]) ORDER BY id DESC LIMIT 1
