"""PostgreSQL without an administrator: installed, started, stopped and given away by Damascus itself."""
