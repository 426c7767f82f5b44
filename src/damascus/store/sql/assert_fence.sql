SELECT assert_fence(%(item)s::bigint, %(fence)s::bigint)
