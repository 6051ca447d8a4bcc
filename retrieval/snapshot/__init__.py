"""The contract between who makes snapshots and who reads them.

Belongs here: identities, table schemas, the manifest, the layout on disk, the reader and the diff.
Must not come here: anything that writes a snapshot (assets/publishing) or ranks (retrieval/index).
"""
