"""What only Rondel is asked: one question a file, each answered in a process of its own.

`python -m benchmarks.probes.NAME [SIZE]` prints its figures as one line of JSON.
"""
