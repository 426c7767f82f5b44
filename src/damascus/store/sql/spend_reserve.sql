INSERT INTO spending (project_id, item_id, run_no, step, key, fence, role, model, reserved_tokens, reserved_microdollars)
VALUES (%(project)s::bigint, %(item)s::bigint, %(run)s::int, %(step)s::text, %(key)s::text, %(fence)s::bigint, %(role)s::text,
        %(model)s::text, %(tokens)s::bigint, %(microdollars)s::bigint)
ON CONFLICT (item_id, run_no, step, key, fence) DO NOTHING
