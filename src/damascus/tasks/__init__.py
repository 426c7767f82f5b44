"""The application builder, pure: the task graph and what is made of it. No file, no database, no clock."""
