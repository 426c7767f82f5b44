SELECT max(version) AS version FROM schema_migrations
