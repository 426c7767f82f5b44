-- How a worker's agents are confined: status says it. NULL: a worker of the release before.

ALTER TABLE workers ADD COLUMN confinement text;
