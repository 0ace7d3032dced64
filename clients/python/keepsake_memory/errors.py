"""The one exception of this client."""

from __future__ import annotations


class KeepsakeError(Exception):
    """A request that had no success. `str(error)` is one sentence, the server's own where it gave one.

    `status` is the HTTP status, or None where the server does not answer. `code` is stable: the server's, or
    `unreachable`, or `not_keepsake` where something else answers at the address. `field` is the input that the server
    does not accept, where it names one.
    """

    def __init__(self, sentence: str, *, code: str, status: int | None = None, field: str | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.code = code
        self.field = field
