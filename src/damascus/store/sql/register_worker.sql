INSERT INTO workers (id, host, pid, slots) VALUES (%(id)s::text, %(host)s::text, %(pid)s::int, %(slots)s::int)
ON CONFLICT (id) DO UPDATE SET slots = excluded.slots, ended_at = NULL
