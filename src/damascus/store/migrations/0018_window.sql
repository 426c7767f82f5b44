-- The window. What was spent today is asked for on every page.
CREATE INDEX spending_since ON spending (project_id, at);
