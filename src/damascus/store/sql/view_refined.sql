-- Is the item's spec one that a refiner left, and has a person approved exactly that text?
SELECT EXISTS (SELECT FROM journal j WHERE j.item_id = i.id AND j.step = 'refine' AND j.status = 'done'
                  AND encode(sha256(convert_to(j.output ->> 'text', 'UTF8')), 'hex') = i.spec_hash)
   AND NOT EXISTS (SELECT FROM journal j WHERE j.item_id = i.id AND j.step = 'approved' AND j.key = i.spec_hash)
       AS by_nobody
  FROM work_items i WHERE i.id = %(item)s::bigint
