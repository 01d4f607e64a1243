"""A value that no printing, formatting, pickling or serialising shows."""

import hmac
from typing import Any, NoReturn

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

MASK = "**********"


class Secret:
    """Wraps a string; `reveal()` is the only way to it, and easy to search for in reviews."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the string itself."""
        return self._value

    def __repr__(self) -> str:
        """Mask of fixed length, which does not tell the secret's."""
        return f"Secret({MASK!r})"

    def __str__(self) -> str:
        """Mask."""
        return MASK

    def __format__(self, specification: str) -> str:
        """Mask, whatever was specified."""
        return MASK

    def __bool__(self) -> bool:
        """Tell whether there is anything in it."""
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        """Compare in a time that does not depend on where two secrets differ."""
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self._value.encode(), other._value.encode())

    def __hash__(self) -> int:
        """Hash of the string."""
        return hash(self._value)

    def __copy__(self) -> "Secret":
        """Secrets do not change, so a copy is the same."""
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> "Secret":
        """Secrets do not change, so a copy is the same."""
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse to be pickled: a pickle is plain text to whoever finds it."""
        raise TypeError("a secret cannot be pickled")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: type[Any], handler: GetCoreSchemaHandler) -> CoreSchema:
        """Validate from a string, serialise to the mask."""
        from_text = core_schema.no_info_after_validator_function(cls, core_schema.str_schema())
        return core_schema.union_schema(
            [core_schema.is_instance_schema(cls), from_text],
            mode="left_to_right",
            serialization=core_schema.plain_serializer_function_ser_schema(lambda _: MASK),
            custom_error_type="string_type",
        )
