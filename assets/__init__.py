"""What is materialized: thin @asset shells here, plain logic in the packages below.

The modules directly in this package are Dagster shells, one per stage. The packages (crawling,
parsing, extraction, linking, embedding, checks, publishing) hold the logic and never import
dagster.
"""
