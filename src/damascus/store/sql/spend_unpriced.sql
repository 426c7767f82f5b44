-- The models that were used and have no price.
SELECT DISTINCT model FROM spending
 WHERE project_id = %(project)s::bigint AND microdollars IS NULL AND tokens > 0 ORDER BY model
