"""What schemathesis is told besides the document (schemathesis.toml)."""

import os

import schemathesis


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """`Keepsake-User` is for service tokens alone: with an agent's it is no part of the document."""
    if "FOR_SERVICE_TOKEN" in os.environ:
        return
    parameters = raw_schema["components"]["parameters"]
    names = {f"#/components/parameters/{key}" for key, it in parameters.items() if it["name"] == "Keepsake-User"}
    for path in raw_schema["paths"].values():
        for operation in path.values():
            kept = [it for it in operation.get("parameters", []) if it.get("$ref") not in names]
            operation["parameters"] = kept
