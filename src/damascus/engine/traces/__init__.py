"""Traces: what a story did, as spans. Loaded only where an OpenTelemetry collector is named."""
