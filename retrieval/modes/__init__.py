"""The router and the three retrieval modes: direct, navigation, reasoning.

Belongs here: what decides where candidates come from and how they are fused and reranked. Must not
come here: storage and answer writing.
"""
