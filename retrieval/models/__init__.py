"""Embedder, reranker and (later) LLM behind small protocols, loaded by name, verified by hash.

Belongs here: protocols, loaders, weight verification, tokenizers. Must not come here: what a model
is used for. Heavy libraries are imported when a model is loaded, never before.
"""
