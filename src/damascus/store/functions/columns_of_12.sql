-- What a worker of schema 9 to 12 calls the columns that a settle sets: it names some of them otherwise, and what is NULL is not
-- there. It finishes what it holds beside a newer worker. Goes when 0013 is readable by none of them any more.
CREATE OR REPLACE FUNCTION columns_of_12(p jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_build_object(
               'phase', p -> 'phase', 'state', CASE WHEN (p ->> 'keep')::boolean THEN '"leased"' ELSE p -> 'state' END,
               'attempts', p -> 'attempts', 'last_verdict', p -> 'verdict', 'last_feedback', p -> 'feedback',
               'failure_signature', p -> 'signature', 'failure_streak', p -> 'streak', 'series_since', p -> 'series_since',
               'series_count', p -> 'series_count', 'series_ended', p -> 'series_ended', 'wait_kind', p -> 'wait_kind',
               'wait_key', p -> 'wait_key', 'not_before', p -> 'not_before', 'resume_phase', p -> 'resume',
               'run_no', (p ->> 'run_no')::integer + (p ->> 'new_run')::integer, 'rescues', 0)
           || coalesce((SELECT jsonb_object_agg(fact.key, fact.value) FROM jsonb_each(p) fact
                         WHERE fact.value <> 'null' AND fact.key IN (
                               'base_commit', 'candidate', 'pr_url', 'merged_commit', 'spec_hash', 'file_scope', 'rough')), '{}')
$$;
