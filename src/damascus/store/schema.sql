-- Made by `python -m damascus.store.dump` from store/migrations/ and store/functions/. Read it; change those.

CREATE TYPE public.scope_span AS RANGE (
    subtype = text,
    multirange_type_name = public.scope_span_multirange,
    collation = pg_catalog."C"
);

CREATE TABLE public.work_items (
    id bigint NOT NULL,
    uuid uuid DEFAULT gen_random_uuid() NOT NULL,
    project_id bigint NOT NULL,
    project text NOT NULL,
    repo_id bigint NOT NULL,
    story_id text NOT NULL,
    title text NOT NULL,
    phase text NOT NULL,
    state text NOT NULL,
    priority smallint DEFAULT 2 NOT NULL,
    ready_at timestamp with time zone DEFAULT now() NOT NULL,
    deadline_at timestamp with time zone DEFAULT now() NOT NULL,
    wait_kind text,
    wait_key text,
    not_before timestamp with time zone,
    depends_on bigint[] DEFAULT '{}'::bigint[] NOT NULL,
    file_scope text[] DEFAULT '{}'::text[] NOT NULL,
    spans public.scope_span[] DEFAULT '{}'::public.scope_span[] NOT NULL,
    spec bytea NOT NULL,
    spec_hash text NOT NULL,
    spec_path text NOT NULL,
    acceptance bytea,
    rough boolean DEFAULT false NOT NULL,
    branch text NOT NULL,
    base_commit text,
    candidate text,
    pr_url text,
    merged_commit text,
    run_no integer DEFAULT 1 NOT NULL,
    fence bigint DEFAULT 0 NOT NULL,
    claims integer DEFAULT 0 NOT NULL,
    rescues integer DEFAULT 0 NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    budget_cycles integer DEFAULT 5 NOT NULL,
    last_verdict text,
    last_feedback jsonb,
    failure_signature text,
    failure_streak integer DEFAULT 0 NOT NULL,
    series_since timestamp with time zone,
    series_count integer DEFAULT 0 NOT NULL,
    series_ended boolean DEFAULT false NOT NULL,
    resume_phase text,
    answers text[] DEFAULT '{}'::text[] NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    first_attempted_at timestamp with time zone,
    change jsonb,
    graph text,
    graph_at integer,
    CONSTRAINT blocked_resumes_somewhere CHECK (((phase = 'blocked'::text) = (resume_phase IS NOT NULL))),
    CONSTRAINT done_has_no_change CHECK (((phase <> 'done'::text) OR (change IS NULL))),
    CONSTRAINT done_means_landed CHECK (((phase <> 'done'::text) OR (merged_commit IS NOT NULL))),
    CONSTRAINT resting_phases CHECK (((state = 'resting'::text) = (phase = ANY (ARRAY['done'::text, 'blocked'::text, 'stale'::text, 'cancelled'::text])))),
    CONSTRAINT review_needs_a_pull CHECK (((phase <> ALL (ARRAY['review'::text, 'merge'::text, 'done'::text])) OR (pr_url IS NOT NULL))),
    CONSTRAINT stale_names_its_change CHECK (((phase <> 'stale'::text) OR (change IS NOT NULL))),
    CONSTRAINT waiting_names_its_reason CHECK (((state = 'waiting'::text) = (wait_kind IS NOT NULL))),
    CONSTRAINT work_items_budget_cycles_check CHECK ((budget_cycles > 0)),
    CONSTRAINT work_items_phase_check CHECK ((phase = ANY (ARRAY['spec'::text, 'build'::text, 'review'::text, 'merge'::text, 'done'::text, 'blocked'::text, 'stale'::text, 'cancelled'::text]))),
    CONSTRAINT work_items_priority_check CHECK (((priority >= 0) AND (priority <= 3))),
    CONSTRAINT work_items_resume_phase_check CHECK ((resume_phase = ANY (ARRAY['spec'::text, 'build'::text, 'review'::text, 'merge'::text]))),
    CONSTRAINT work_items_state_check CHECK ((state = ANY (ARRAY['ready'::text, 'leased'::text, 'waiting'::text, 'resting'::text]))),
    CONSTRAINT work_items_wait_kind_check CHECK ((wait_kind = ANY (ARRAY['scope'::text, 'behind'::text, 'dependency'::text, 'landing'::text, 'hold'::text, 'chain'::text, 'upstream'::text, 'repo_full'::text, 'agent'::text, 'backoff'::text, 'dirty'::text, 'ci'::text, 'mirror'::text, 'budget'::text, 'secret'::text])))
)
WITH (fillfactor='85');

COMMENT ON CONSTRAINT blocked_resumes_somewhere ON public.work_items IS 'A blocked story knows the phase in which it goes on.';

COMMENT ON CONSTRAINT done_has_no_change ON public.work_items IS 'A done story is as its spec says: a change is over once it is built.';

COMMENT ON CONSTRAINT done_means_landed ON public.work_items IS 'A done story names its commit on main.';

COMMENT ON CONSTRAINT resting_phases ON public.work_items IS 'A story rests in exactly the phases in which no worker has anything to do.';

COMMENT ON CONSTRAINT review_needs_a_pull ON public.work_items IS 'Nothing is reviewed or landed without a pull request.';

COMMENT ON CONSTRAINT stale_names_its_change ON public.work_items IS 'A stale story says what made it invalid, and since when.';

COMMENT ON CONSTRAINT waiting_names_its_reason ON public.work_items IS 'Who waits says for what, and nobody else does.';

COMMENT ON CONSTRAINT work_items_budget_cycles_check ON public.work_items IS 'A story has at least one attempt.';

COMMENT ON CONSTRAINT work_items_phase_check ON public.work_items IS 'spec: a rough spec is being refined
build: from the first test to an open pull request with green CI
review: another agent, or a person, judges the change
merge: it waits for its turn and lands
done: it is on main
blocked: only a person can say how it goes on
stale: a change of its spec made a done story invalid
cancelled: a person ended it';

COMMENT ON CONSTRAINT work_items_priority_check ON public.work_items IS '0 is the most urgent, 3 the least.';

COMMENT ON CONSTRAINT work_items_resume_phase_check ON public.work_items IS 'A blocked story goes on in a phase that workers carry.';

COMMENT ON CONSTRAINT work_items_state_check ON public.work_items IS 'ready: any worker may claim it
leased: a worker has it
waiting: for (wait_kind, wait_key), or until not_before
resting: done, blocked, stale or cancelled';

COMMENT ON CONSTRAINT work_items_wait_kind_check ON public.work_items IS 'scope: a file that another story holds
behind: another waiting story that wants exactly the same files
dependency: a story of depends_on
landing: a place in the merge queue, or its turn there
hold: a hold on the repository, or on one of its chain
chain: a story that is worked, or goes first, in a repository of its chain
upstream: main of a repository that its own one needs is not known to be green
repo_full: a place in its repository
agent: agents that can work
backoff: the clock, after trouble outside the story
dirty: a file of a person with changes that landing would overwrite
ci: CI on a forge
mirror: the mirror job on main, after landing
budget: the project''s budget, which steps that run have reserved
secret: a variable that its test contract names and nobody has set';

CREATE TABLE public.active_scopes (
    item_id bigint NOT NULL,
    span public.scope_span NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='50');

CREATE TABLE public.artifacts (
    item_id bigint NOT NULL,
    name text NOT NULL,
    version integer NOT NULL,
    run_no integer NOT NULL,
    step text NOT NULL,
    sha256 text NOT NULL,
    content bytea NOT NULL,
    made_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT artifacts_are_capped CHECK ((octet_length(content) <= 2000000)),
    CONSTRAINT artifacts_are_named_below_the_run CHECK (((name ~ '^(signal|plan|build)/[A-Za-z0-9_][A-Za-z0-9_./-]*$'::text) AND (name !~ '\.\.'::text))),
    CONSTRAINT artifacts_version_from_one CHECK ((version >= 1))
);

COMMENT ON CONSTRAINT artifacts_are_capped ON public.artifacts IS 'Longer than anybody would read.';

COMMENT ON CONSTRAINT artifacts_are_named_below_the_run ON public.artifacts IS 'A name that leads out of the run folder is nobody''s artifact.';

COMMENT ON CONSTRAINT artifacts_version_from_one ON public.artifacts IS 'Versions are counted from one, without a gap, by whoever writes the next.';

CREATE TABLE public.assumptions (
    project_id bigint NOT NULL,
    number integer NOT NULL,
    item_id bigint NOT NULL,
    made_at timestamp with time zone DEFAULT now() NOT NULL,
    assumption text NOT NULL,
    CONSTRAINT assumptions_from_one CHECK ((number >= 1))
);

COMMENT ON CONSTRAINT assumptions_from_one ON public.assumptions IS 'Assumptions are counted from one, as ASSUMPTIONS.md shows them.';

CREATE TABLE public.audit (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    who text NOT NULL,
    by text NOT NULL,
    act text NOT NULL,
    target text NOT NULL,
    origin text NOT NULL,
    outcome text DEFAULT 'begun'::text NOT NULL
);

ALTER TABLE public.audit ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.audit_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.budget_raises (
    project_id bigint NOT NULL,
    item_id bigint DEFAULT 0 NOT NULL,
    unit text NOT NULL,
    amount bigint NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT budget_raises_amount_check CHECK ((amount > 0)),
    CONSTRAINT budget_raises_unit_check CHECK ((unit = ANY (ARRAY['tokens'::text, 'dollars'::text])))
);

COMMENT ON CONSTRAINT budget_raises_amount_check ON public.budget_raises IS 'A budget is raised, never taken away.';

COMMENT ON CONSTRAINT budget_raises_unit_check ON public.budget_raises IS 'tokens: the amount is in tokens
dollars: the amount is in millionths of a dollar';

CREATE TABLE public.events_outbox (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    item_id bigint,
    kind text NOT NULL,
    body jsonb DEFAULT '{}'::jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE public.human_issues (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    item_id bigint,
    question text NOT NULL,
    options text[] DEFAULT '{}'::text[] NOT NULL,
    owner text DEFAULT 'you'::text NOT NULL,
    answer text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    closed_at timestamp with time zone,
    kind text DEFAULT 'question'::text NOT NULL,
    about jsonb,
    CONSTRAINT human_issues_kind_check CHECK ((kind = ANY (ARRAY['question'::text, 'write'::text])))
);

COMMENT ON CONSTRAINT human_issues_kind_check ON public.human_issues IS 'question: holds its story until it is answered
write: about one write of an agent that waits for the answer; the story stays leased';

CREATE TABLE public.journal (
    item_id bigint NOT NULL,
    run_no integer NOT NULL,
    phase text NOT NULL,
    step text NOT NULL,
    key text DEFAULT ''::text NOT NULL,
    status text NOT NULL,
    fence bigint NOT NULL,
    input jsonb DEFAULT '{}'::jsonb NOT NULL,
    output jsonb,
    started_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    done_at timestamp with time zone,
    CONSTRAINT journal_phase_check CHECK ((phase = ANY (ARRAY['spec'::text, 'build'::text, 'review'::text, 'merge'::text]))),
    CONSTRAINT journal_status_check CHECK ((status = ANY (ARRAY['intent'::text, 'done'::text])))
);

COMMENT ON CONSTRAINT journal_phase_check ON public.journal IS 'Only a phase that workers carry has steps.';

COMMENT ON CONSTRAINT journal_status_check ON public.journal IS 'intent: the step was begun; whether its effect took place must be looked up
done: its result is recorded and never changes';

CREATE TABLE public.repos (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    path text NOT NULL,
    main_branch text NOT NULL,
    main_sha text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    forge_kind text,
    forge_url text,
    forge_token_env text,
    uuid uuid DEFAULT gen_random_uuid() NOT NULL,
    name text,
    joined boolean DEFAULT false NOT NULL,
    max_workers integer DEFAULT 0 NOT NULL,
    ci_state text,
    ci_sha text,
    ci_with jsonb DEFAULT '{}'::jsonb NOT NULL,
    ci_text text,
    green_sha text,
    green_with jsonb DEFAULT '{}'::jsonb NOT NULL,
    red_since timestamp with time zone,
    impact_sha text,
    CONSTRAINT repos_ci_state_check CHECK ((ci_state = ANY (ARRAY['pending'::text, 'green'::text, 'red'::text]))),
    CONSTRAINT repos_max_workers_check CHECK ((max_workers >= 0))
);

COMMENT ON CONSTRAINT repos_ci_state_check ON public.repos IS 'pending: CI has not told of main''s tip yet
green: CI passed there
red: CI failed there';

COMMENT ON CONSTRAINT repos_max_workers_check ON public.repos IS '0: as many as there are slots.';

CREATE VIEW public.checkpoints AS
 SELECT e.id,
    e.created_at,
    e.item_id,
    i.project,
    i.story_id AS component_id,
    r.path AS repo,
    ( SELECT (c.body ->> 'worker'::text)
           FROM public.events_outbox c
          WHERE ((c.item_id = e.item_id) AND (c.kind = 'item.claimed'::text) AND (c.id <= e.id))
          ORDER BY c.id DESC
         LIMIT 1) AS worker_id,
    ( SELECT (m.body ->> 'milestone'::text)
           FROM public.events_outbox m
          WHERE ((m.item_id = e.item_id) AND (m.kind = 'milestone.changed'::text) AND (m.id <= e.id))
          ORDER BY m.id DESC
         LIMIT 1) AS milestone,
    e.kind AS trigger,
    i.run_no,
    ( SELECT COALESCE(jsonb_agg((j.output -> 'commit'::text)) FILTER (WHERE (j.output ? 'commit'::text)), '[]'::jsonb) AS "coalesce"
           FROM public.journal j
          WHERE ((j.item_id = e.item_id) AND (j.status = 'done'::text) AND (j.done_at <= e.created_at))) AS commits,
    ( SELECT COALESCE(jsonb_agg(j.output), '[]'::jsonb) AS "coalesce"
           FROM public.journal j
          WHERE ((j.item_id = e.item_id) AND (j.step = 'ci'::text) AND (j.status = 'done'::text) AND (j.done_at <= e.created_at))) AS ci_runs,
    ( SELECT COALESCE(jsonb_agg(DISTINCT f.value), '[]'::jsonb) AS "coalesce"
           FROM public.journal j,
            LATERAL jsonb_array_elements(COALESCE((j.output -> 'files_changed'::text), '[]'::jsonb)) f(value)
          WHERE ((j.item_id = e.item_id) AND (j.status = 'done'::text) AND (j.done_at <= e.created_at))) AS files,
    COALESCE((e.body ->> 'line'::text), e.kind) AS summary,
    ( SELECT COALESCE(jsonb_agg(h.question), '[]'::jsonb) AS "coalesce"
           FROM public.human_issues h
          WHERE ((h.item_id = e.item_id) AND (h.closed_at IS NULL))) AS blockers,
    ( SELECT COALESCE(jsonb_agg(h.answer), '[]'::jsonb) AS "coalesce"
           FROM public.human_issues h
          WHERE ((h.item_id = e.item_id) AND (h.answer IS NOT NULL))) AS decisions
   FROM ((public.events_outbox e
     JOIN public.work_items i ON ((i.id = e.item_id)))
     JOIN public.repos r ON ((r.id = i.repo_id)))
  WHERE (e.kind = ANY (ARRAY['milestone.changed'::text, 'build.pushed'::text, 'ci.finished'::text, 'checkpoint.taken'::text]));

CREATE TABLE public.decisions (
    project_id bigint NOT NULL,
    number integer NOT NULL,
    item_id bigint NOT NULL,
    made_at timestamp with time zone DEFAULT now() NOT NULL,
    title text NOT NULL,
    context text DEFAULT ''::text NOT NULL,
    decision text DEFAULT ''::text NOT NULL,
    trade_off text DEFAULT ''::text NOT NULL,
    pattern text DEFAULT ''::text NOT NULL,
    accepted_by text,
    CONSTRAINT decisions_from_one CHECK ((number >= 1))
);

COMMENT ON CONSTRAINT decisions_from_one ON public.decisions IS 'Decisions are counted from one, as DECISIONS.md shows them.';

CREATE TABLE public.event_counts (
    project_id bigint NOT NULL,
    kind text NOT NULL,
    word text DEFAULT ''::text NOT NULL,
    n bigint NOT NULL
);

CREATE TABLE public.event_numbers (
    seq bigint NOT NULL,
    event_id bigint NOT NULL
);

ALTER TABLE public.events_outbox ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.events_outbox_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.evidence (
    key text NOT NULL,
    repo_id bigint NOT NULL,
    tree text NOT NULL,
    command text NOT NULL,
    environment text NOT NULL,
    gate_version text NOT NULL,
    result jsonb NOT NULL,
    made_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT evidence_is_a_pass CHECK ((((result -> 'exit_code'::text) = '0'::jsonb) AND ((result -> 'timed_out'::text) = 'false'::jsonb))),
    CONSTRAINT evidence_key_is_a_hash CHECK ((key ~ '^[0-9a-f]{64}$'::text))
);

COMMENT ON CONSTRAINT evidence_is_a_pass ON public.evidence IS 'Only a pass is kept; whatever failed is run again.';

COMMENT ON CONSTRAINT evidence_key_is_a_hash ON public.evidence IS 'One key for one pass: a second run of the same finds the first.';

CREATE TABLE public.file_owners (
    repo_id bigint NOT NULL,
    path text NOT NULL,
    item_id bigint NOT NULL
);

CREATE TABLE public.flaky_tests (
    project_id bigint NOT NULL,
    repo_id bigint NOT NULL,
    job text NOT NULL,
    test text NOT NULL,
    first_seen timestamp with time zone DEFAULT now() NOT NULL,
    last_seen timestamp with time zone DEFAULT now() NOT NULL,
    times integer DEFAULT 1 NOT NULL,
    last_sha text NOT NULL
);

ALTER TABLE public.human_issues ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.human_issues_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.leases (
    item_id bigint NOT NULL,
    fence bigint NOT NULL,
    worker_id text NOT NULL,
    acquired_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    expires_at timestamp with time zone NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='50');

CREATE TABLE public.notices (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    target text NOT NULL,
    first_seq bigint NOT NULL,
    last_seq bigint NOT NULL,
    title text NOT NULL,
    lines jsonb NOT NULL,
    made_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    not_before timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    tries integer DEFAULT 0 NOT NULL,
    taken_until timestamp with time zone,
    sent_at timestamp with time zone,
    given_up_at timestamp with time zone,
    error text,
    CONSTRAINT notices_end_once CHECK (((sent_at IS NULL) OR (given_up_at IS NULL))),
    CONSTRAINT notices_target_check CHECK ((target = ANY (ARRAY['command'::text, 'webhook'::text, 'desktop'::text])))
);

COMMENT ON CONSTRAINT notices_end_once ON public.notices IS 'What was sent is not given up.';

COMMENT ON CONSTRAINT notices_target_check ON public.notices IS 'command: a command of [notify], the message on its stdin
webhook: an address that a variable holds
desktop: notify-send';

ALTER TABLE public.notices ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.notices_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.pattern_uses (
    item_id bigint NOT NULL,
    pattern text NOT NULL,
    title text DEFAULT ''::text NOT NULL,
    state text NOT NULL,
    CONSTRAINT pattern_uses_state_check CHECK ((state = ANY (ARRAY['offered'::text, 'applied'::text])))
);

COMMENT ON CONSTRAINT pattern_uses_state_check ON public.pattern_uses IS 'offered: the agent was told of it
applied: the agent said that it used it, and its diff shows it';

CREATE TABLE public.projections (
    repo_id bigint NOT NULL,
    path text NOT NULL,
    sha256 text NOT NULL,
    as_main boolean DEFAULT false NOT NULL,
    part jsonb DEFAULT '{}'::jsonb NOT NULL,
    written_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE public.projects (
    id bigint NOT NULL,
    uuid uuid NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE public.projects ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.projects_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.queue (
    only_one boolean DEFAULT true NOT NULL,
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT queue_only_one_check CHECK (only_one)
);

COMMENT ON CONSTRAINT queue_only_one_check ON public.queue IS 'One database is one queue.';

CREATE TABLE public.queue_entries (
    item_id bigint NOT NULL,
    repo_id bigint NOT NULL,
    target text NOT NULL,
    pos bigint NOT NULL,
    base text NOT NULL,
    commit text NOT NULL,
    state text NOT NULL,
    entered_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT queue_entries_state_check CHECK ((state = ANY (ARRAY['testing'::text, 'green'::text, 'red'::text])))
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='50');

COMMENT ON CONSTRAINT queue_entries_state_check ON public.queue_entries IS 'testing: its tests run, or are about to
green: its tests passed on exactly this commit
red: its tests failed; it leaves, and nobody is built on top of it';

ALTER TABLE public.queue_entries ALTER COLUMN pos ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.queue_entries_pos_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.queues (
    repo_id bigint NOT NULL,
    target text NOT NULL,
    width integer DEFAULT 4 NOT NULL,
    most integer DEFAULT 1 NOT NULL,
    version bigint DEFAULT 0 NOT NULL,
    CONSTRAINT queues_width_check CHECK ((width >= 1))
)
WITH (fillfactor='50');

COMMENT ON CONSTRAINT queues_width_check ON public.queues IS 'At least one story is tested at a time.';

CREATE TABLE public.repo_edges (
    up bigint NOT NULL,
    down bigint NOT NULL,
    CONSTRAINT repo_edges_check CHECK ((up <> down))
);

COMMENT ON CONSTRAINT repo_edges_check ON public.repo_edges IS 'No repository needs itself.';

CREATE TABLE public.repo_holds (
    id bigint NOT NULL,
    repo_id bigint NOT NULL,
    reason text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    released_at timestamp with time zone,
    halt text,
    CONSTRAINT repo_holds_halt_check CHECK ((halt = ANY (ARRAY['root'::text, 'blocked'::text, 'secret'::text, 'stale'::text, 'ship'::text])))
);

COMMENT ON CONSTRAINT repo_holds_halt_check ON public.repo_holds IS 'root: root rights are needed
blocked: five attempts in a row were blocked, over all tasks
secret: a required secret is missing
stale: a STALE task needs a person''s word
ship: SHIP was declared';

ALTER TABLE public.repo_holds ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.repo_holds_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.repo_locks (
    item_id bigint NOT NULL,
    repo_id bigint NOT NULL,
    works boolean NOT NULL,
    line box GENERATED ALWAYS AS (
CASE
    WHEN works THEN box(point(((((repo_id)::numeric * 4294967296.0) + (item_id)::numeric))::double precision, (((repo_id)::numeric * 4294967296.0))::double precision), point(((((repo_id)::numeric * 4294967296.0) + (item_id)::numeric))::double precision, ((((repo_id)::numeric * 4294967296.0) + 4294967295.0))::double precision))
    ELSE box(point((((repo_id)::numeric * 4294967296.0))::double precision, ((((repo_id)::numeric * 4294967296.0) + (item_id)::numeric))::double precision), point(((((repo_id)::numeric * 4294967296.0) + 4294967295.0))::double precision, ((((repo_id)::numeric * 4294967296.0) + (item_id)::numeric))::double precision))
END) STORED NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='50');

ALTER TABLE public.repos ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.repos_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.schema_functions (
    name text NOT NULL,
    sha256 text NOT NULL,
    release text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE public.schema_migrations (
    version integer NOT NULL,
    name text NOT NULL,
    sha256 text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL,
    readable_by integer
);

CREATE TABLE public.scope_barriers (
    item_id bigint NOT NULL,
    deadline_at timestamp with time zone NOT NULL,
    span public.scope_span NOT NULL
);

CREATE TABLE public.screenshots (
    item_id bigint NOT NULL,
    page text NOT NULL,
    viewport text NOT NULL,
    sha256 text NOT NULL,
    mark text NOT NULL,
    png bytea NOT NULL,
    browser text NOT NULL,
    shown_at timestamp with time zone DEFAULT now() NOT NULL,
    accepted_at timestamp with time zone,
    accepted_by text,
    CONSTRAINT screenshots_accepted_by_somebody CHECK ((((accepted_at IS NULL) = (accepted_by IS NULL)) AND (accepted_by <> ''::text))),
    CONSTRAINT screenshots_are_bounded CHECK (((octet_length(png) >= 1) AND (octet_length(png) <= 20000000))),
    CONSTRAINT screenshots_are_what_they_say CHECK ((sha256 = encode(sha256(png), 'hex'::text)))
);

COMMENT ON CONSTRAINT screenshots_accepted_by_somebody ON public.screenshots IS 'An acceptance is a person''s word: it says whose, and when.';

COMMENT ON CONSTRAINT screenshots_are_bounded ON public.screenshots IS 'No page makes a row of any size.';

COMMENT ON CONSTRAINT screenshots_are_what_they_say ON public.screenshots IS 'Receipts name a picture by its hash: it is of these very bytes.';

CREATE TABLE public.ships (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    declared_by text NOT NULL,
    note text DEFAULT ''::text NOT NULL,
    declared_at timestamp with time zone DEFAULT now() NOT NULL,
    verdict text,
    receipt jsonb,
    undone_by text,
    undone_at timestamp with time zone,
    CONSTRAINT ships_undone_by_somebody CHECK (((undone_at IS NULL) = (undone_by IS NULL))),
    CONSTRAINT ships_verdict_check CHECK ((verdict = ANY (ARRAY['SHIP'::text, 'CONDITIONAL'::text, 'NO-SHIP'::text]))),
    CONSTRAINT ships_verdict_has_its_receipt CHECK (((verdict IS NULL) = (receipt IS NULL)))
);

COMMENT ON CONSTRAINT ships_undone_by_somebody ON public.ships IS 'Taking SHIP back is a person''s act.';

COMMENT ON CONSTRAINT ships_verdict_check ON public.ships IS 'SHIP: every task is DONE and all that was verified is green
CONDITIONAL: something is UNVERIFIED by name, or only MVP
NO-SHIP: something is red or not done';

COMMENT ON CONSTRAINT ships_verdict_has_its_receipt ON public.ships IS 'A verdict is computed: the receipt says from what.';

ALTER TABLE public.ships ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.ships_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.spending (
    project_id bigint NOT NULL,
    item_id bigint NOT NULL,
    run_no integer NOT NULL,
    step text NOT NULL,
    key text DEFAULT ''::text NOT NULL,
    fence bigint NOT NULL,
    role text NOT NULL,
    model text NOT NULL,
    reserved_tokens bigint DEFAULT 0 NOT NULL,
    reserved_microdollars bigint DEFAULT 0 NOT NULL,
    input_tokens bigint DEFAULT 0 NOT NULL,
    output_tokens bigint DEFAULT 0 NOT NULL,
    cached_tokens bigint DEFAULT 0 NOT NULL,
    tokens bigint GENERATED ALWAYS AS (((input_tokens + output_tokens) + cached_tokens)) STORED NOT NULL,
    turns integer DEFAULT 0 NOT NULL,
    microdollars bigint,
    state text DEFAULT 'reserved'::text NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT spending_reserved_microdollars_check CHECK ((reserved_microdollars >= 0)),
    CONSTRAINT spending_reserved_tokens_check CHECK ((reserved_tokens >= 0)),
    CONSTRAINT spending_state_check CHECK ((state = ANY (ARRAY['reserved'::text, 'settled'::text])))
)
WITH (fillfactor='80');

COMMENT ON CONSTRAINT spending_reserved_microdollars_check ON public.spending IS '0: no limit.';

COMMENT ON CONSTRAINT spending_reserved_tokens_check ON public.spending IS '0: no limit.';

COMMENT ON CONSTRAINT spending_state_check ON public.spending IS 'reserved: the agent may still be at work; counts as long as its lease holds
settled: what was used is final';

CREATE TABLE public.stream (
    only_one boolean DEFAULT true NOT NULL,
    last_seq bigint DEFAULT 0 NOT NULL,
    settled bigint DEFAULT 0 NOT NULL,
    mark bigint DEFAULT 0 NOT NULL,
    writers text[] DEFAULT '{}'::text[] NOT NULL,
    pruned bigint DEFAULT 0 NOT NULL,
    CONSTRAINT stream_only_one_check CHECK (only_one)
);

COMMENT ON CONSTRAINT stream_only_one_check ON public.stream IS 'There is one stream.';

CREATE TABLE public.stream_cursors (
    project_id bigint NOT NULL,
    reader text NOT NULL,
    seq bigint NOT NULL,
    taken_until timestamp with time zone,
    CONSTRAINT stream_cursors_reader_check CHECK ((reader = ANY (ARRAY['notifier'::text, 'counter'::text, 'tracer'::text])))
);

COMMENT ON CONSTRAINT stream_cursors_reader_check ON public.stream_cursors IS 'notifier: makes notices of events
counter: counts events, for metrics
tracer: sends a trace of each story that came to rest';

CREATE TABLE public.tokens (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    name text NOT NULL,
    scope text NOT NULL,
    sha256 text NOT NULL,
    made_by text NOT NULL,
    made_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    CONSTRAINT tokens_keep_a_hash CHECK ((sha256 ~ '^[0-9a-f]{64}$'::text)),
    CONSTRAINT tokens_scope_check CHECK ((scope = ANY (ARRAY['read'::text, 'act'::text])))
);

COMMENT ON CONSTRAINT tokens_keep_a_hash ON public.tokens IS 'Who reads this table learns no token.';

COMMENT ON CONSTRAINT tokens_scope_check ON public.tokens IS 'read: may look at everything
act: may also answer, retry, cancel and add';

ALTER TABLE public.tokens ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.tokens_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

ALTER TABLE public.work_items ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.work_items_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.worker_records (
    item_id bigint NOT NULL,
    worker_id text NOT NULL,
    milestone text DEFAULT 'WORKING'::text NOT NULL,
    step text,
    substate text,
    progress jsonb DEFAULT '{}'::jsonb NOT NULL,
    line text,
    since timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT worker_records_milestone_check CHECK ((milestone = ANY (ARRAY['WORKING'::text, 'PUSHED_TO_CI'::text, 'FIXING_CI'::text, 'DONE'::text, 'BLOCKED'::text, 'TERMINATED'::text])))
)
WITH (fillfactor='50');

COMMENT ON CONSTRAINT worker_records_milestone_check ON public.worker_records IS 'WORKING: an agent or a gate is at work
PUSHED_TO_CI: the branch is on its forge and CI has it
FIXING_CI: CI was red and is being repaired
DONE: the story landed
BLOCKED: a person is asked
TERMINATED: the story was cancelled';

CREATE TABLE public.workers (
    id text NOT NULL,
    project_id bigint,
    host text NOT NULL,
    pid integer NOT NULL,
    slots integer NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    ended_at timestamp with time zone,
    confinement text,
    repos bigint[],
    trouble jsonb
);

ALTER TABLE ONLY public.artifacts
    ADD CONSTRAINT artifacts_pkey PRIMARY KEY (item_id, name, version);

ALTER TABLE ONLY public.assumptions
    ADD CONSTRAINT assumptions_item_id_assumption_key UNIQUE (item_id, assumption);

ALTER TABLE ONLY public.assumptions
    ADD CONSTRAINT assumptions_pkey PRIMARY KEY (project_id, number);

ALTER TABLE ONLY public.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.budget_raises
    ADD CONSTRAINT budget_raises_pkey PRIMARY KEY (project_id, item_id, unit);

ALTER TABLE ONLY public.decisions
    ADD CONSTRAINT decisions_item_id_title_key UNIQUE (item_id, title);

ALTER TABLE ONLY public.decisions
    ADD CONSTRAINT decisions_pkey PRIMARY KEY (project_id, number);

ALTER TABLE ONLY public.event_counts
    ADD CONSTRAINT event_counts_pkey PRIMARY KEY (project_id, kind, word);

ALTER TABLE ONLY public.event_numbers
    ADD CONSTRAINT event_numbers_event_id_key UNIQUE (event_id);

ALTER TABLE ONLY public.event_numbers
    ADD CONSTRAINT event_numbers_pkey PRIMARY KEY (seq);

ALTER TABLE public.events_outbox
    ADD CONSTRAINT events_outbox_kind_check CHECK ((kind = ANY (ARRAY['story.added'::text, 'story.replaced'::text, 'item.claimed'::text, 'item.rescued'::text, 'item.released'::text, 'item.waits'::text, 'run.resumed'::text, 'run.restarted'::text, 'agent.started'::text, 'agent.warned'::text, 'agent.extended'::text, 'agent.finished'::text, 'build.committed'::text, 'build.pushed'::text, 'build.pr_opened'::text, 'ci.finished'::text, 'ci.again'::text, 'ci.mirrored'::text, 'test.flaky'::text, 'checkpoint.taken'::text, 'milestone.changed'::text, 'phase.transitioned'::text, 'phase.transient_retry'::text, 'attempt.rejected'::text, 'blocked.exhausted'::text, 'blocked.loop'::text, 'blocked.transient'::text, 'blocked.permission'::text, 'blocked.budget'::text, 'blocked.approval'::text, 'blocked.question'::text, 'blocked.main_red'::text, 'blocked.ci_failed'::text, 'blocked.tests_weakened'::text, 'blocked.spec_ambiguous'::text, 'blocked.spec_wrong'::text, 'blocked.worker_crash'::text, 'story.landed'::text, 'story.not_on_main'::text, 'story.reverted'::text, 'story.cancelled'::text, 'story.retried'::text, 'story.spec_approved'::text, 'story.approved'::text, 'story.sent_back'::text, 'story.resumed'::text, 'story.handed_over'::text, 'budget.raised'::text, 'issue.opened'::text, 'issue.answered'::text, 'repo.held'::text, 'repo.released'::text, 'repo.red'::text, 'repo.green'::text, 'story.stale'::text, 'story.reapproved'::text, 'story.change_undone'::text, 'builder.halted'::text, 'builder.resumed'::text, 'ship.declared'::text, 'ship.verified'::text, 'ship.undone'::text, 'regression.found'::text, 'decision.recorded'::text, 'patterns.matched'::text, 'pattern.accepted'::text, 'tasks.status_edited'::text, 'tasks.checkpoint'::text, 'source.ticked'::text]))) NOT VALID;

COMMENT ON CONSTRAINT events_outbox_kind_check ON public.events_outbox IS 'domain/events.py says what each one tells.';

ALTER TABLE ONLY public.events_outbox
    ADD CONSTRAINT events_outbox_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.evidence
    ADD CONSTRAINT evidence_pkey PRIMARY KEY (key);

ALTER TABLE ONLY public.file_owners
    ADD CONSTRAINT file_owners_pkey PRIMARY KEY (repo_id, path, item_id);

ALTER TABLE ONLY public.flaky_tests
    ADD CONSTRAINT flaky_tests_pkey PRIMARY KEY (repo_id, job, test);

ALTER TABLE ONLY public.human_issues
    ADD CONSTRAINT human_issues_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.journal
    ADD CONSTRAINT journal_pkey PRIMARY KEY (item_id, run_no, step, key);

ALTER TABLE ONLY public.leases
    ADD CONSTRAINT leases_pkey PRIMARY KEY (item_id);

ALTER TABLE ONLY public.repo_locks
    ADD CONSTRAINT never_two_repositories_of_one_chain EXCLUDE USING gist (line WITH &&);

ALTER TABLE ONLY public.notices
    ADD CONSTRAINT notices_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.notices
    ADD CONSTRAINT notices_project_id_target_last_seq_key UNIQUE (project_id, target, last_seq);

ALTER TABLE ONLY public.pattern_uses
    ADD CONSTRAINT pattern_uses_pkey PRIMARY KEY (item_id, pattern);

ALTER TABLE ONLY public.projections
    ADD CONSTRAINT projections_pkey PRIMARY KEY (repo_id, path);

ALTER TABLE ONLY public.projects
    ADD CONSTRAINT projects_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.projects
    ADD CONSTRAINT projects_uuid_key UNIQUE (uuid);

ALTER TABLE ONLY public.queue_entries
    ADD CONSTRAINT queue_entries_pkey PRIMARY KEY (item_id);

ALTER TABLE ONLY public.queue
    ADD CONSTRAINT queue_pkey PRIMARY KEY (only_one);

ALTER TABLE ONLY public.queues
    ADD CONSTRAINT queues_pkey PRIMARY KEY (repo_id, target);

ALTER TABLE ONLY public.repo_edges
    ADD CONSTRAINT repo_edges_pkey PRIMARY KEY (up, down);

ALTER TABLE ONLY public.repo_holds
    ADD CONSTRAINT repo_holds_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.repo_locks
    ADD CONSTRAINT repo_locks_pkey PRIMARY KEY (item_id, repo_id);

ALTER TABLE ONLY public.repos
    ADD CONSTRAINT repos_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.repos
    ADD CONSTRAINT repos_project_id_path_key UNIQUE (project_id, path);

ALTER TABLE ONLY public.repos
    ADD CONSTRAINT repos_uuid_key UNIQUE (uuid);

ALTER TABLE ONLY public.schema_functions
    ADD CONSTRAINT schema_functions_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (version);

ALTER TABLE ONLY public.screenshots
    ADD CONSTRAINT screenshots_pkey PRIMARY KEY (item_id, page, viewport, sha256);

ALTER TABLE ONLY public.ships
    ADD CONSTRAINT ships_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.spending
    ADD CONSTRAINT spending_pkey PRIMARY KEY (item_id, run_no, step, key, fence);

ALTER TABLE ONLY public.stream_cursors
    ADD CONSTRAINT stream_cursors_pkey PRIMARY KEY (project_id, reader);

ALTER TABLE ONLY public.stream
    ADD CONSTRAINT stream_pkey PRIMARY KEY (only_one);

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.active_scopes
    ADD CONSTRAINT two_stories_never_touch_the_same_files EXCLUDE USING gist (span WITH &&);

ALTER TABLE ONLY public.work_items
    ADD CONSTRAINT work_items_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.work_items
    ADD CONSTRAINT work_items_uuid_key UNIQUE (uuid);

ALTER TABLE ONLY public.worker_records
    ADD CONSTRAINT worker_records_pkey PRIMARY KEY (item_id);

ALTER TABLE ONLY public.workers
    ADD CONSTRAINT workers_pkey PRIMARY KEY (id);

CREATE INDEX active_scopes_item ON public.active_scopes USING btree (item_id);

CREATE INDEX audit_of_project ON public.audit USING btree (project_id, id);

CREATE INDEX events_of_ends ON public.events_outbox USING btree (project_id, id) WHERE (kind = ANY (ARRAY['blocked.exhausted'::text, 'blocked.loop'::text, 'blocked.transient'::text, 'blocked.permission'::text, 'blocked.budget'::text, 'blocked.question'::text, 'blocked.main_red'::text, 'blocked.ci_failed'::text, 'blocked.tests_weakened'::text, 'blocked.spec_ambiguous'::text, 'blocked.spec_wrong'::text, 'blocked.worker_crash'::text, 'story.landed'::text, 'builder.resumed'::text]));

CREATE INDEX events_of_item ON public.events_outbox USING btree (item_id, id);

CREATE INDEX events_of_rejections ON public.events_outbox USING btree (project_id, id) WHERE (kind = 'attempt.rejected'::text);

CREATE INDEX evidence_by_age ON public.evidence USING btree (made_at);

CREATE INDEX evidence_of_repo ON public.evidence USING btree (repo_id);

CREATE INDEX file_owners_of_item ON public.file_owners USING btree (item_id);

CREATE INDEX flaky_tests_of_project ON public.flaky_tests USING btree (project_id, last_seen);

CREATE INDEX human_issues_open ON public.human_issues USING btree (project_id, id) WHERE (closed_at IS NULL);

CREATE INDEX notices_unsent ON public.notices USING btree (project_id, id) WHERE ((sent_at IS NULL) AND (given_up_at IS NULL));

CREATE INDEX queue_entries_line ON public.queue_entries USING btree (repo_id, target, pos);

CREATE INDEX repo_holds_open ON public.repo_holds USING btree (repo_id) WHERE (released_at IS NULL);

CREATE INDEX repo_locks_repo ON public.repo_locks USING btree (repo_id, works);

CREATE UNIQUE INDEX repos_forge_url ON public.repos USING btree (forge_url);

CREATE UNIQUE INDEX repos_name ON public.repos USING btree (project_id, lower(name));

CREATE INDEX scope_barriers_item ON public.scope_barriers USING btree (item_id);

CREATE INDEX screenshots_of_page ON public.screenshots USING btree (page, viewport) WHERE (accepted_at IS NOT NULL);

CREATE UNIQUE INDEX ships_one_at_a_time ON public.ships USING btree (project_id) WHERE (undone_at IS NULL);

CREATE INDEX spending_of_project ON public.spending USING btree (project_id) INCLUDE (tokens, microdollars, model);

CREATE INDEX spending_reserved ON public.spending USING btree (project_id) WHERE (state = 'reserved'::text);

CREATE INDEX spending_since ON public.spending USING btree (project_id, at);

CREATE INDEX tokens_of_project ON public.tokens USING btree (project_id, id);

CREATE INDEX work_items_changed ON public.work_items USING btree (project_id, state, phase, updated_at, id);

CREATE INDEX work_items_due ON public.work_items USING btree (project_id, not_before) WHERE ((state = 'waiting'::text) AND (not_before IS NOT NULL));

CREATE INDEX work_items_listed ON public.work_items USING btree (project_id, phase, id);

CREATE INDEX work_items_moving ON public.work_items USING btree (project_id) WHERE (state = 'leased'::text);

CREATE INDEX work_items_of_graph ON public.work_items USING btree (project_id, graph_at, id) WHERE (graph IS NOT NULL);

CREATE INDEX work_items_ready ON public.work_items USING btree (project_id, deadline_at, id) WHERE (state = 'ready'::text);

CREATE UNIQUE INDEX work_items_story ON public.work_items USING btree (project_id, lower(story_id));

CREATE INDEX work_items_wait ON public.work_items USING btree (wait_kind, wait_key, deadline_at, id) WHERE (state = 'waiting'::text);

ALTER TABLE ONLY public.active_scopes
    ADD CONSTRAINT active_scopes_item_id_fkey FOREIGN KEY (item_id) REFERENCES public.work_items(id);

ALTER TABLE ONLY public.artifacts
    ADD CONSTRAINT artifacts_item_id_fkey FOREIGN KEY (item_id) REFERENCES public.work_items(id);

ALTER TABLE ONLY public.assumptions
    ADD CONSTRAINT assumptions_item_id_fkey FOREIGN KEY (item_id) REFERENCES public.work_items(id);

ALTER TABLE ONLY public.assumptions
    ADD CONSTRAINT assumptions_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id);

ALTER TABLE ONLY public.audit
    ADD CONSTRAINT audit_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.budget_raises
    ADD CONSTRAINT budget_raises_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id);

ALTER TABLE ONLY public.decisions
    ADD CONSTRAINT decisions_item_id_fkey FOREIGN KEY (item_id) REFERENCES public.work_items(id);

ALTER TABLE ONLY public.decisions
    ADD CONSTRAINT decisions_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id);

ALTER TABLE ONLY public.event_counts
    ADD CONSTRAINT event_counts_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id);

ALTER TABLE ONLY public.event_numbers
    ADD CONSTRAINT event_numbers_event_id_fkey FOREIGN KEY (event_id) REFERENCES public.events_outbox(id);

ALTER TABLE ONLY public.events_outbox
    ADD CONSTRAINT events_outbox_item_id_fkey FOREIGN KEY (item_id) REFERENCES public.work_items(id);

ALTER TABLE ONLY public.events_outbox
    ADD CONSTRAINT events_outbox_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id);

ALTER TABLE ONLY public.evidence
    ADD CONSTRAINT evidence_repo_id_fkey FOREIGN KEY (repo_id) REFERENCES public.repos(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.file_owners
    ADD CONSTRAINT file_owners_item_id_fkey FOREIGN KEY (item_id) REFERENCES public.work_items(id);

ALTER TABLE ONLY public.file_owners
    ADD CONSTRAINT file_owners_repo_id_fkey FOREIGN KEY (repo_id) REFERENCES public.repos(id);

ALTER TABLE ONLY public.flaky_tests
    ADD CONSTRAINT flaky_tests_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id);

ALTER TABLE ONLY public.flaky_tests
    ADD CONSTRAINT flaky_tests_repo_id_fkey FOREIGN KEY (repo_id) REFERENCES public.repos(id);

ALTER TABLE ONLY public.human_issues
    ADD CONSTRAINT human_issues_item_id_fkey FOREIGN KEY (item_id) REFERENCES public.work_items(id);

ALTER TABLE ONLY public.human_issues
    ADD CONSTRAINT human_issues_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id);

ALTER TABLE ONLY public.journal
    ADD CONSTRAINT journal_item_id_fkey FOREIGN KEY (item_id) REFERENCES public.work_items(id);

ALTER TABLE ONLY public.leases
    ADD CONSTRAINT leases_item_id_fkey FOREIGN KEY (item_id) REFERENCES public.work_items(id);

ALTER TABLE ONLY public.notices
    ADD CONSTRAINT notices_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id);

ALTER TABLE ONLY public.pattern_uses
    ADD CONSTRAINT pattern_uses_item_id_fkey FOREIGN KEY (item_id) REFERENCES public.work_items(id);

ALTER TABLE ONLY public.projections
    ADD CONSTRAINT projections_repo_id_fkey FOREIGN KEY (repo_id) REFERENCES public.repos(id);

ALTER TABLE ONLY public.queue_entries
    ADD CONSTRAINT queue_entries_item_id_fkey FOREIGN KEY (item_id) REFERENCES public.work_items(id);

ALTER TABLE ONLY public.queue_entries
    ADD CONSTRAINT queue_entries_queue_fkey FOREIGN KEY (repo_id, target) REFERENCES public.queues(repo_id, target);

ALTER TABLE ONLY public.queues
    ADD CONSTRAINT queues_repo_id_fkey FOREIGN KEY (repo_id) REFERENCES public.repos(id);

ALTER TABLE ONLY public.repo_edges
    ADD CONSTRAINT repo_edges_down_fkey FOREIGN KEY (down) REFERENCES public.repos(id);

ALTER TABLE ONLY public.repo_edges
    ADD CONSTRAINT repo_edges_up_fkey FOREIGN KEY (up) REFERENCES public.repos(id);

ALTER TABLE ONLY public.repo_holds
    ADD CONSTRAINT repo_holds_repo_id_fkey FOREIGN KEY (repo_id) REFERENCES public.repos(id);

ALTER TABLE ONLY public.repo_locks
    ADD CONSTRAINT repo_locks_item_id_fkey FOREIGN KEY (item_id) REFERENCES public.work_items(id);

ALTER TABLE ONLY public.repo_locks
    ADD CONSTRAINT repo_locks_repo_id_fkey FOREIGN KEY (repo_id) REFERENCES public.repos(id);

ALTER TABLE ONLY public.repos
    ADD CONSTRAINT repos_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id);

ALTER TABLE ONLY public.scope_barriers
    ADD CONSTRAINT scope_barriers_item_id_fkey FOREIGN KEY (item_id) REFERENCES public.work_items(id);

ALTER TABLE ONLY public.screenshots
    ADD CONSTRAINT screenshots_item_id_fkey FOREIGN KEY (item_id) REFERENCES public.work_items(id);

ALTER TABLE ONLY public.ships
    ADD CONSTRAINT ships_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id);

ALTER TABLE ONLY public.spending
    ADD CONSTRAINT spending_item_id_fkey FOREIGN KEY (item_id) REFERENCES public.work_items(id);

ALTER TABLE ONLY public.spending
    ADD CONSTRAINT spending_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id);

ALTER TABLE ONLY public.stream_cursors
    ADD CONSTRAINT stream_cursors_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id);

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id);

ALTER TABLE ONLY public.work_items
    ADD CONSTRAINT work_items_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id);

ALTER TABLE ONLY public.work_items
    ADD CONSTRAINT work_items_repo_id_fkey FOREIGN KEY (repo_id) REFERENCES public.repos(id);

ALTER TABLE ONLY public.worker_records
    ADD CONSTRAINT worker_records_item_id_fkey FOREIGN KEY (item_id) REFERENCES public.work_items(id);

ALTER TABLE ONLY public.workers
    ADD CONSTRAINT workers_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id);

CREATE FUNCTION public.assert_fence(p_item bigint, p_fence bigint) RETURNS void;  -- functions/assert_fence.sql
CREATE FUNCTION public.chain_of(p_repo bigint) RETURNS TABLE(repo_id bigint, above boolean);  -- functions/chain_of.sql
CREATE FUNCTION public.claim_items(p_project bigint, p_worker text, p_count integer, p_lease interval, p_look integer) RETURNS TABLE(item_id bigint, looked integer);  -- functions/claim_items.sql
CREATE FUNCTION public.claim_within(p_low integer, p_high integer, p_project bigint, p_worker text, p_count integer, p_lease interval, p_look integer) RETURNS TABLE(item_id bigint, looked integer);  -- functions/claim_within.sql
CREATE FUNCTION public.columns_of_12(p jsonb) RETURNS jsonb;  -- functions/columns_of_12.sql
CREATE FUNCTION public.end_halt(p_project bigint, p_halt text, p_by text) RETURNS boolean;  -- functions/end_halt.sql
CREATE FUNCTION public.fenced_dones(p_item bigint, p_fence bigint, p_run integer, p_phase text, p_project bigint, p_dones jsonb) RETURNS void;  -- functions/fenced_dones.sql
CREATE FUNCTION public.free_repo(p_item bigint, p_repo bigint) RETURNS void;  -- functions/free_repo.sql
CREATE FUNCTION public.free_scope(p_item bigint) RETURNS void;  -- functions/free_scope.sql
CREATE FUNCTION public.graph_changed(p_project bigint) RETURNS void;  -- functions/graph_changed.sql
CREATE FUNCTION public.halt_project(p_project bigint, p_halt text, p_reason text, p_item bigint) RETURNS boolean;  -- functions/halt_project.sql
CREATE FUNCTION public.hold_repo(p_project bigint, p_repo bigint, p_reason text) RETURNS bigint;  -- functions/hold_repo.sql
CREATE FUNCTION public.in_the_way(p_item public.work_items, p_above bigint[], p_chain bigint[], p_mine bigint[], p_only bigint) RETURNS bigint;  -- functions/in_the_way.sql
CREATE FUNCTION public.judge_repo(p_repo bigint, p_sha text, p_with jsonb, p_state text, p_text text) RETURNS text;  -- functions/judge_repo.sql
CREATE FUNCTION public.keep_first_attempt() RETURNS trigger;  -- functions/keep_first_attempt.sql
CREATE FUNCTION public.leave_queue(p_item bigint, p_landed boolean) RETURNS void;  -- functions/leave_queue.sql
CREATE FUNCTION public.lock_begun(p_project bigint) RETURNS void;  -- functions/lock_begun.sql
CREATE FUNCTION public.main_moved() RETURNS trigger;  -- functions/main_moved.sql
CREATE FUNCTION public.park_for_scope(p_item public.work_items, p_blocker bigint) RETURNS void;  -- functions/park_for_scope.sql
CREATE FUNCTION public.publish_events(p_most integer) RETURNS integer;  -- functions/publish_events.sql
CREATE FUNCTION public.queue_changed(p_repo bigint, p_target text) RETURNS void;  -- functions/queue_changed.sql
CREATE FUNCTION public.queue_mark(p_item bigint, p_commit text, p_state text) RETURNS void;  -- functions/queue_mark.sql
CREATE FUNCTION public.queue_put(p_repo bigint, p_target text, p_item bigint, p_base text, p_commit text, p_state text, p_most integer) RETURNS text;  -- functions/queue_put.sql
CREATE FUNCTION public.refuse_first_attempt_change() RETURNS trigger;  -- functions/refuse_first_attempt_change.sql
CREATE FUNCTION public.release_repo(p_project bigint, p_repo bigint) RETURNS integer;  -- functions/release_repo.sql
CREATE FUNCTION public.repo_blocker(p_item public.work_items, p_mine bigint[], OUT kind text, OUT key text) RETURNS record;  -- functions/repo_blocker.sql
CREATE FUNCTION public.rescue_item(p_item bigint, p_fence bigint, p_limit integer, p_why text) RETURNS text;  -- functions/rescue_item.sql
CREATE FUNCTION public.same_scope(p_spans public.scope_span[]) RETURNS text;  -- functions/same_scope.sql
CREATE FUNCTION public.schema_fits(p_low integer, p_high integer) RETURNS boolean;  -- functions/schema_fits.sql
CREATE FUNCTION public.scope_blocker(p_item public.work_items) RETURNS bigint;  -- functions/scope_blocker.sql
CREATE FUNCTION public.settle_item(p_item bigint, p_fence bigint, p jsonb, p_spec bytea, p_spans public.scope_span[]) RETURNS SETOF public.work_items;  -- functions/settle_item.sql
CREATE FUNCTION public.wait_in_queue(p_repo bigint, p_target text, p_item bigint, p_version bigint) RETURNS void;  -- functions/wait_in_queue.sql
CREATE FUNCTION public.wake(p_kind text, p_key text, p_limit integer) RETURNS integer;  -- functions/wake.sql
CREATE FUNCTION public.write_dones(p_item bigint, p_fence bigint, p_run integer, p_phase text, p_project bigint, p_dones jsonb) RETURNS void;  -- functions/write_dones.sql
CREATE FUNCTION public.write_events(p_project bigint, p_item bigint, p_events jsonb) RETURNS void;  -- functions/write_events.sql

CREATE TRIGGER first_attempt BEFORE UPDATE OF claims ON public.work_items FOR EACH ROW WHEN ((new.claims > old.claims)) EXECUTE FUNCTION public.keep_first_attempt();

CREATE TRIGGER first_attempt_stays BEFORE UPDATE OF first_attempted_at ON public.work_items FOR EACH ROW WHEN (((old.first_attempted_at IS NOT NULL) AND (new.first_attempted_at IS DISTINCT FROM old.first_attempted_at))) EXECUTE FUNCTION public.refuse_first_attempt_change();

CREATE TRIGGER main_moved AFTER UPDATE OF main_sha ON public.repos FOR EACH ROW WHEN (((new.ci_state IS NOT NULL) AND (new.main_sha IS DISTINCT FROM old.main_sha))) EXECUTE FUNCTION public.main_moved();
