"""Adds an item with the generated client (`keepsake_client`), finds and reads it, and is refused."""

import os

from keepsake_client import AuthenticatedClient
from keepsake_client.api.for_building_agents import list_tools
from keepsake_client.api.tools import memory_add, memory_get, memory_search
from keepsake_client.models import (
    MemoryAddRequest,
    MemoryAddRequestType,
    MemoryGetRequest,
    MemorySearchRequest,
    Problem,
)

with AuthenticatedClient(os.environ["KEEPSAKE_URL"], os.environ["KEEPSAKE_TOKEN"]) as client:
    fact = MemoryAddRequest(content="The zeppelin is in the garden.", type_=MemoryAddRequestType.FACT, theme="home")
    added = memory_add.sync(client=client, body=fact)
    found = memory_search.sync(client=client, body=MemorySearchRequest(query="zeppelin", limit=1))
    assert found.results[0].id == added.id, found
    item = memory_get.sync(client=client, body=MemoryGetRequest(item_id=added.id))
    assert item.content == fact.content and item.created_at.tzinfo, item
    refused = memory_search.sync(client=client, body=MemorySearchRequest(limit=500))
    assert isinstance(refused, Problem) and refused.field == "limit", refused
    assert len(list_tools.sync(client=client).tools) == 5
