"""Chroma's server over its own client: a collection for each user."""
from adapters import chroma
from adapters.chroma import Client  # noqa: F401


class Peer(chroma.Peer):
    title = "Chroma, a collection each"
    has_collection_each = True
