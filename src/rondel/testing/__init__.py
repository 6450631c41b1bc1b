"""What authors of stores and processors test with; import the part you need.

`journal_suite` is the conformance suite of journals, `crash_points` kills a process where it
hurts. Nothing here is imported by Rondel itself.
"""
