-- A person has decided, and what was decided is still to be done: the question stays open.
UPDATE human_issues SET answer = %(answer)s::text WHERE id = %(issue)s::bigint AND closed_at IS NULL
