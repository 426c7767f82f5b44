-- By the dispatch itself, held or not: what it has used is true also when its item was taken over. Counters only grow.
UPDATE spending SET input_tokens = greatest(input_tokens, %(input)s::bigint), output_tokens = greatest(output_tokens, %(output)s::bigint),
       cached_tokens = greatest(cached_tokens, %(cached)s::bigint), turns = greatest(turns, %(turns)s::int),
       microdollars = greatest(microdollars, %(microdollars)s::bigint), model = %(model)s::text,
       state = CASE WHEN %(final)s::bool THEN 'settled' ELSE state END
 WHERE item_id = %(item)s::bigint AND run_no = %(run)s::int AND step = %(step)s::text AND key = %(key)s::text
   AND fence = %(fence)s::bigint
