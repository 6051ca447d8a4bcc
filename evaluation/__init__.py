"""Question sets, metrics, systems (ours and the baselines) and experiments over a snapshot.

Belongs here: what measures. Must not come here: what builds a snapshot or serves it.
"""
