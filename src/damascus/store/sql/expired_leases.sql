-- Rescue waits one lease time after the server's start: its downtime must not end healthy work.
SELECT l.item_id, l.fence, l.worker_id, l.expires_at < clock_timestamp() AND
       pg_postmaster_start_time() + %(lease)s::interval < clock_timestamp() AS expired
  FROM leases l JOIN work_items i ON i.id = l.item_id
 ORDER BY l.expires_at LIMIT 500
