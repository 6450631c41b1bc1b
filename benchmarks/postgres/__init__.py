"""Durable sessions in PostgreSQL, ours and others': `benchmarks.cluster` runs each in a process."""
