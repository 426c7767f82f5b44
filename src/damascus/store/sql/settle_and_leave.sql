-- As settle_item; who leaves the item needs no row of it.
SELECT FROM settle_item(%(item)s::bigint, %(fence)s::bigint, %(columns)s::jsonb, %(spec)s::bytea, %(spans)s::scope_span[])
