"""Bytes to objects: typed decoders, made once for each type."""

import functools
from collections.abc import Mapping
from typing import Any, Generic, TypeVar, cast

import msgspec

from managedjobs.kube.errors import ApiError, Unreadable, api_error
from managedjobs.kube.objects import Key, ObjectMeta

T = TypeVar("T")


class _ListMeta(msgspec.Struct, rename={"resource_version": "resourceVersion", "next_page": "continue"}):
    resource_version: str = ""
    next_page: str = ""


class Page(msgspec.Struct, Generic[T]):
    """One page of a list; `metadata.next_page` is empty on the last."""

    items: list[T] | None = None
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)


class _Status(msgspec.Struct):
    """The server's own description of an error."""

    reason: str | None = None
    message: str | None = None
    code: int | None = None
    details: dict[str, Any] | None = None


class _Named(msgspec.Struct):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)


class _WatchLine(msgspec.Struct):
    type: str
    object: msgspec.Raw


encode = msgspec.json.Encoder().encode
decode_watch_line = msgspec.json.Decoder(_WatchLine).decode
_decode_status = msgspec.json.Decoder(_Status).decode
_decode_named = msgspec.json.Decoder(_Named).decode


@functools.cache
def _object_decoder(kind: Any) -> msgspec.json.Decoder[Any]:  # noqa: ANN401 - a type that only the caller knows
    return msgspec.json.Decoder(kind)


@functools.cache
def _page_decoder(kind: Any) -> msgspec.json.Decoder[Any]:  # noqa: ANN401 - a type that only the caller knows
    return msgspec.json.Decoder(cast(Any, Page)[kind])


def decode(body: bytes | msgspec.Raw, kind: type[T], request: str) -> T:
    """`body` as an object of `kind`; raises Unreadable, which names `request`."""
    try:
        return cast(T, _object_decoder(cast(Any, kind)).decode(body))
    except msgspec.DecodeError as error:
        raise Unreadable(str(error), request=request) from error


def decode_page(body: bytes, kind: type[T], request: str) -> tuple[Page[T], dict[Key, str]]:
    """`body` as a page of `kind`, and what is wrong with each object that does not fit it."""
    try:
        return cast(Page[T], _page_decoder(cast(Any, kind)).decode(body)), {}
    except msgspec.ValidationError:
        return _decode_page_piecemeal(body, kind, request)
    except msgspec.DecodeError as error:
        raise Unreadable(str(error), request=request) from error


def _decode_page_piecemeal(body: bytes, kind: type[T], request: str) -> tuple[Page[T], dict[Key, str]]:
    """Slower, item by item: one object that does not fit must not hide the others."""
    try:
        rough = cast(Page[msgspec.Raw], _page_decoder(msgspec.Raw).decode(body))
        items: list[T] = []
        unreadable: dict[Key, str] = {}
        for raw in rough.items or ():
            try:
                items.append(_object_decoder(cast(Any, kind)).decode(raw))
            except msgspec.ValidationError as error:
                meta = _decode_named(raw).metadata
                unreadable[(meta.namespace, meta.name)] = str(error)
    except msgspec.DecodeError as error:
        raise Unreadable(str(error), request=request) from error
    return Page(items=items, metadata=rough.metadata), unreadable


def decode_resource_version(body: bytes | msgspec.Raw, request: str) -> str:
    """The resourceVersion in the metadata of `body`, whatever else it is."""
    try:
        return _decode_named(body).metadata.resource_version
    except msgspec.DecodeError as error:
        raise Unreadable(str(error), request=request) from error


def decode_error(http_status: int, body: bytes | msgspec.Raw, headers: Mapping[str, str], request: str) -> ApiError:
    """The error that a refusal stands for; a body that is no Status (a proxy's page) becomes the message."""
    try:
        status = _decode_status(body)
    except msgspec.DecodeError:
        status = _Status(message=bytes(body)[:2000].decode("utf-8", "replace"))
    details = status.details or {}
    return api_error(
        http_status or status.code or 500,
        status.reason or "",
        status.message or "",
        details,
        request=request,
        retry_after=_retry_after(headers, details),
    )


def _retry_after(headers: Mapping[str, str], details: Mapping[str, Any]) -> float | None:
    """Seconds from the Retry-After header, else from the Status; a date in the header is not understood."""
    for value in (headers.get("Retry-After"), details.get("retryAfterSeconds")):
        try:
            seconds = float(value) if value is not None else 0.0
        except (TypeError, ValueError):
            continue
        if seconds > 0:
            return seconds
    return None
