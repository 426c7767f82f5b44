SELECT rescue_item(%(item)s::bigint, %(fence)s::bigint, %(limit)s::int, %(why)s::text) AS became
