-- Processes that said they began and not that they ended; whether they live is asked elsewhere.
SELECT w.id, w.host, w.pid, w.slots, coalesce(w.confinement, 'unconfined') AS confinement, w.started_at,
       (SELECT count(*) FROM leases l WHERE l.worker_id = w.id) AS busy,
       (SELECT bool_or(l.expires_at > clock_timestamp()) FROM leases l WHERE l.worker_id = w.id) AS renews
  FROM workers w WHERE w.ended_at IS NULL AND w.project_id = %(project)s::bigint ORDER BY w.started_at DESC LIMIT 1000
