-- What fails again and again in a worker's background: status and doctor say it. NULL: nothing does.
-- readable by: 7

-- By service: how often in a row, since when, why in one sentence, and the log file that tells the rest.
ALTER TABLE workers ADD COLUMN trouble jsonb;
