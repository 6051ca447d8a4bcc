"""Checks of a candidate: Great Expectations suites per table, cross-table rules, drift.

The only package that imports great_expectations.
"""
