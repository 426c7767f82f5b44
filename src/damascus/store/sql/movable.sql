-- Can anything of this project still move without a person? Waits with a wake-up are waited for (but those for a file of a
-- person's), and CI of a main that others depend on. Only who has a repository can move what is ready there.
SELECT EXISTS (SELECT 1 FROM work_items WHERE project_id = %(project)s::bigint AND state = 'leased')
    OR EXISTS (SELECT 1 FROM work_items WHERE project_id = %(project)s::bigint AND state = 'ready'
                  AND repo_id = ANY (%(repos)s::bigint[]))
    OR EXISTS (SELECT 1 FROM work_items WHERE project_id = %(project)s::bigint AND state = 'waiting'
                  AND wait_kind IS DISTINCT FROM 'dirty'
                  AND (not_before IS NOT NULL OR wait_kind = 'landing' OR (wait_kind = 'agent' AND NOT EXISTS (
                      SELECT 1 FROM human_issues h WHERE h.project_id = %(project)s::bigint AND h.closed_at IS NULL
                         AND h.about ->> 'about' = 'agent'))))
    OR EXISTS (SELECT 1 FROM repos r WHERE r.id = ANY (%(repos)s::bigint[]) AND r.ci_state = 'pending' AND NOT EXISTS (
                   SELECT 1 FROM chain_of(r.id) c JOIN repos u ON u.id = c.repo_id WHERE c.above AND u.ci_state = 'red')) AS movable
