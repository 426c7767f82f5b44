-- What rows.item needs, and no more: a worker reads this at every claim. A milestone counts once its line was published.
SELECT i.id, i.uuid, i.project_id, i.project, i.repo_id, i.story_id, i.title, i.phase, i.run_no, i.fence, i.spec, i.spec_path,
       i.spec_hash, i.file_scope, i.branch, i.attempts, i.budget_cycles, i.rough, i.acceptance, i.base_commit, i.candidate,
       i.pr_url, i.merged_commit, i.last_verdict, i.last_feedback, i.failure_signature, i.failure_streak, i.series_since,
       i.series_count, i.series_ended, i.rescues, i.resume_phase, i.first_attempted_at, i.created_at, i.answers,
       CASE WHEN w.line IS NOT NULL THEN w.milestone END AS milestone
  FROM work_items i LEFT JOIN worker_records w ON w.item_id = i.id WHERE i.id = ANY (%(ids)s::bigint[])
