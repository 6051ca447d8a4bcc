"""The `sitequest` command: one module per group of commands, output helpers, exit codes.

Belongs here: arguments in, text or JSON out. Must not come here: work that a Python caller would
want too. Importing it loads no heavy library: `sitequest --help` is quick.
"""
