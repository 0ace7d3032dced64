"""LangGraph PostgresStore with hnsw.iterative_scan set by hand in its database."""
from adapters import langgraph
from database import Iterative


class Peer(Iterative, langgraph.Peer):
    title = "LangGraph PostgresStore, iterative scan"
    filled_by = "langgraph"
