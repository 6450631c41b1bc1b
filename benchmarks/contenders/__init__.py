"""One contender a file: each does the workloads in its own idiom and says how.

`python -m benchmarks.contenders.NAME WORKLOAD SIZE` does one, in the environment where that
contender is installed, and prints what it took. Apart from the contender's own library these files
need nothing but the standard library.
"""
