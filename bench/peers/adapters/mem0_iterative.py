"""mem0 with hnsw.iterative_scan set by hand in its database."""
from adapters import mem0
from database import Iterative


class Peer(Iterative, mem0.Peer):
    title = "mem0, iterative scan"
    filled_by = "mem0"
