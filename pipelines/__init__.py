"""When and how it runs: Dagster definitions, jobs, settings, command line, benchmarks, demo.

Belongs here: wiring. Must not come here: logic that a test would want without Dagster or a shell.
"""
