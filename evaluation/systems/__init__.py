"""Systems under evaluation: ours and the baselines, behind one protocol.

Belongs here: adapters. Must not come here: retrieval logic of our own.
"""
