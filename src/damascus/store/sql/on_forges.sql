-- The projects whose repositories live on a forge, by their uuids, and what they are called.
SELECT DISTINCT p.uuid, p.name FROM projects p JOIN repos r ON r.project_id = p.id WHERE r.forge_url IS NOT NULL
 ORDER BY p.name, p.uuid
