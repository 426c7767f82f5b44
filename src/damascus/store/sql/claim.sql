-- Claims up to `count` items of a project; the last row has no item and says how many rows were looked at.
SELECT item_id, looked FROM claim_items(%(project)s::bigint, %(worker)s::text, %(count)s::int, %(lease)s::interval, %(look)s::int)
