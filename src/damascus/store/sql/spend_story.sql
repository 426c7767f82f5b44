SELECT run_no, step, key, role, model, state, reserved_tokens, reserved_microdollars, input_tokens, output_tokens, cached_tokens,
       tokens, turns, microdollars, at
  FROM spending WHERE item_id = %(item)s::bigint ORDER BY at, fence
