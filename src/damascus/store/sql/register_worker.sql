INSERT INTO workers (id, project_id, host, pid, slots) VALUES (%(id)s::text, %(project)s::bigint, %(host)s::text, %(pid)s::int, %(slots)s::int)
ON CONFLICT (id) DO UPDATE SET slots = excluded.slots, ended_at = NULL
