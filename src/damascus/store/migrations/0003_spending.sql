-- What agent steps may spend and have spent (X5). One row for each time that an agent was sent: by whom (fence), for
-- which step, with what reserved. Only that dispatch writes its counters, and they only grow, so that nothing is
-- counted twice and nothing that was observed is lost, whoever dies.
CREATE TABLE spending (
    project_id bigint NOT NULL,
    item_id bigint NOT NULL,
    run_no integer NOT NULL,
    step text NOT NULL,
    key text NOT NULL DEFAULT '',
    fence bigint NOT NULL,
    role text NOT NULL,
    model text NOT NULL,
    -- the most that it may use; 0: no limit
    reserved_tokens bigint NOT NULL DEFAULT 0 CHECK (reserved_tokens >= 0),
    reserved_microdollars bigint NOT NULL DEFAULT 0 CHECK (reserved_microdollars >= 0),
    input_tokens bigint NOT NULL DEFAULT 0,
    output_tokens bigint NOT NULL DEFAULT 0,
    cached_tokens bigint NOT NULL DEFAULT 0,
    tokens bigint NOT NULL GENERATED ALWAYS AS (input_tokens + output_tokens + cached_tokens) STORED,
    turns integer NOT NULL DEFAULT 0,
    -- NULL: the model has no price
    microdollars bigint,
    -- a reservation counts only as long as its lease holds; what it has used counts always
    state text NOT NULL DEFAULT 'reserved' CHECK (state IN ('reserved', 'settled')),
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (item_id, run_no, step, key, fence)
) WITH (fillfactor = 80);
CREATE INDEX spending_of_project ON spending (project_id) INCLUDE (tokens, microdollars, model);
CREATE INDEX spending_reserved ON spending (project_id) WHERE state = 'reserved';

-- A person's answer to a budget that is spent: the new limit, where it is higher than the config's.
CREATE TABLE budget_raises (
    project_id bigint NOT NULL,
    -- 0: the whole project
    item_id bigint NOT NULL DEFAULT 0,
    unit text NOT NULL CHECK (unit IN ('tokens', 'dollars')),
    -- tokens, or millionths of a dollar
    amount bigint NOT NULL CHECK (amount > 0),
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project_id, item_id, unit)
);
