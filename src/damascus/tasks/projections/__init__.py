"""The files beside a task graph as pure text: from facts of the database, never read back (docs/task-graph.md)."""
