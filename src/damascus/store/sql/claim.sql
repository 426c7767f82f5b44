-- Claims up to `count` items of a project; the last row has no item and says how many rows were looked at (-1: unknown schema).
SELECT item_id, looked FROM claim_within(%(low)s::int, %(high)s::int, %(project)s::bigint, %(worker)s::text, %(count)s::int,
                                         %(lease)s::interval, %(look)s::int)
