-- Leases that this process holds without knowing: the claim was committed, its answer was lost.
SELECT item_id, fence FROM leases WHERE worker_id = %(worker)s::text AND NOT item_id = ANY (%(known)s::bigint[])
