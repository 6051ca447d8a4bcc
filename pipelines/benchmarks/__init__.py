"""Benchmarks: each measures one promise and prints one JSON document.

Belongs here: what runs the product and measures it, as ratios taken side by side in one run. Must
not come here: anything the product needs to work. `registry` names them; each takes ``--only`` and
resumes where an interrupted run stopped; all share one cache of model outputs (`cache`).
"""
