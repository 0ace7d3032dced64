"""LangGraph PostgresStore with hnsw.iterative_scan set by hand for its connections."""
from adapters import langgraph
from database import ITERATIVE


class Peer(langgraph.Peer):
    title = "LangGraph PostgresStore, iterative scan"
    filled_by = "langgraph"
    client_variables = {**langgraph.Peer.client_variables, **ITERATIVE}
