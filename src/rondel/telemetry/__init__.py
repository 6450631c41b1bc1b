"""Traces of sessions for OpenTelemetry; the only room that knows its SDK."""
