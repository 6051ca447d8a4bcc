"""A real HTTP server for sites at hand: the demo site, unpacked archives, test fixtures.

Belongs here: what a static host does (validators, conditional requests, compression, redirects),
switching the version served, and faults on demand. Does not belong here: the content of any site
(see ``pipelines.demo``) and anything that crawls.
"""
