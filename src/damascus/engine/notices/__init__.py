"""Where messages to people go: a file for each target. Loaded only where [notify] names one."""
