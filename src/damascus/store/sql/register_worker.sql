INSERT INTO workers (id, project_id, host, pid, slots, confinement)
VALUES (%(id)s::text, %(project)s::bigint, %(host)s::text, %(pid)s::int, %(slots)s::int, %(confinement)s::text)
ON CONFLICT (id) DO UPDATE SET slots = excluded.slots, confinement = excluded.confinement, ended_at = NULL
