-- Everything that a line of `status` is made of. views.StoryRow takes what it has a field for.
SELECT i.*,
       w.milestone, w.step, w.substate, w.line, w.progress, w.since AS milestone_since,
       coalesce(l.worker_id, w.worker_id) AS worker_id, l.acquired_at AS leased_at, l.expires_at AS lease_expires_at,
       l.expires_at < clock_timestamp() AS lease_expired,
       b.story_id AS blocker, b.phase AS blocker_phase, b.file_scope AS blocker_scope, h.id AS issue, h.owner AS issue_owner,
       CASE WHEN h.answer IS NOT NULL THEN coalesce('tasks add ' || i.graph, 'add ' || i.spec_path) END AS edits, now() AS read_at
  FROM work_items i
  LEFT JOIN worker_records w ON w.item_id = i.id
  LEFT JOIN leases l ON l.item_id = i.id
  LEFT JOIN LATERAL (
      SELECT CASE i.wait_kind
          WHEN 'scope' THEN i.wait_key::bigint
          WHEN 'chain' THEN i.wait_key::bigint
          WHEN 'dependency' THEN i.wait_key::bigint
          WHEN 'landing' THEN (SELECT e.item_id FROM queue_entries e WHERE e.repo_id || ' ' || e.target = i.wait_key
                                  AND e.item_id <> i.id ORDER BY e.pos LIMIT 1)
          WHEN 'behind' THEN coalesce(
              (SELECT a.item_id FROM unnest(i.spans) s JOIN active_scopes a ON a.span && s WHERE a.item_id <> i.id LIMIT 1),
              (SELECT a.item_id FROM unnest(i.spans) s JOIN scope_barriers a ON a.span && s
                WHERE a.item_id <> i.id AND a.deadline_at = '-infinity' LIMIT 1))  -- of a STALE story
      END AS id WHERE i.state = 'waiting'
      UNION ALL
      -- a worker parks it when it comes to it; until then it waits all the same
      (SELECT d.id FROM work_items d WHERE i.state = 'ready' AND d.id = ANY (i.depends_on) AND d.phase <> 'done'
        ORDER BY d.id LIMIT 1)) f ON true
  LEFT JOIN work_items b ON b.id = f.id
  LEFT JOIN (SELECT DISTINCT ON (item_id) item_id, id, owner, answer FROM human_issues
              WHERE project_id = %(project)s::bigint AND closed_at IS NULL ORDER BY item_id, id) h ON h.item_id = i.id
 WHERE i.id = ANY (%(ids)s::bigint[])
