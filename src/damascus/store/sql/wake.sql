SELECT wake(%(kind)s::text, %(key)s::text, %(limit)s::int)
