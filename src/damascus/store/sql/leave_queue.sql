SELECT leave_queue(%(item)s::bigint, false)
