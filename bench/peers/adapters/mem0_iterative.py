"""mem0 with hnsw.iterative_scan set by hand for its connections."""
from adapters import mem0
from database import ITERATIVE


class Peer(mem0.Peer):
    title = "mem0, iterative scan"
    filled_by = "mem0"
    client_variables = {**mem0.Peer.client_variables, **ITERATIVE}
