"""What the methods return: the fields that most callers read, and the whole result as the server sent it.

Nothing is lost: unknown fields and integers of any size stay in `to_dict()`. Nothing fails either: a result that was delivered is an
answer, so a field of an unexpected shape is left empty and can be read there.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

_T = TypeVar("_T")


@dataclass(frozen=True)
class _Received:
    _received: dict[str, Any] = field(repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """All of it, as the server sent it."""
        return copy.deepcopy(self._received)


def _object(value: Any) -> dict[str, Any]:
    return _members(value) or {}


def _members(value: Any) -> dict[str, Any] | None:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _of(kind: type[_T], value: Any) -> _T | None:
    return value if isinstance(value, kind) else None


def _items(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


@dataclass(frozen=True)
class CallToolResult(_Received):
    """The result of `tools/call`. A tool that failed says so in `is_error`: that is an answer, not an error of the call."""

    content: list[dict[str, Any]]
    """Content blocks, each as the server sent it."""
    structured_content: dict[str, Any] | None
    """The structured result."""
    is_error: bool
    """The tool says that it failed."""
    result_type: str
    """`complete`, or `task` where the server goes on with the call in a task, or what an extension that you declared has of its own."""
    task: dict[str, Any] | None
    """The task that the server goes on with, as it sent it: the call is not over, and `content` is empty. Only of servers to which you
    declared tasks in `extensions`."""
    meta: dict[str, Any] | None
    """`_meta`"""

    @property
    def text(self) -> str:
        """The text of all text blocks, one to a line."""
        # A server may send anything.
        blocks = [block for block in map(_object, self.content) if block.get("type") == "text"]
        return "\n".join(block["text"] for block in blocks if isinstance(block.get("text"), str))

    @classmethod
    def _of(cls, value: Any) -> CallToolResult:
        got = _object(value)
        content, structured = _items(got.get("content")), got.get("structuredContent")
        kind = _of(str, got.get("resultType"))
        kind = "complete" if kind is None else kind
        # The extension puts the members of the task beside the type, its forerunner into a member of their own.
        task = got.get("task")
        task = got if task is None and kind == "task" else task
        return cls(got, content, structured, got.get("isError") is True, kind, task, _members(got.get("_meta")))


@dataclass(frozen=True)
class ReadResourceResult(_Received):
    """The result of `resources/read`."""

    contents: list[dict[str, Any]]
    """Text or blob contents, each as the server sent it."""
    meta: dict[str, Any] | None
    """`_meta`"""

    @classmethod
    def _of(cls, value: Any) -> ReadResourceResult:
        got = _object(value)
        return cls(got, _items(got.get("contents")), _members(got.get("_meta")))


@dataclass(frozen=True)
class GetPromptResult(_Received):
    """The result of `prompts/get`."""

    description: str | None
    """What the prompt is for."""
    messages: list[dict[str, Any]]
    """The messages, each as the server sent it."""
    meta: dict[str, Any] | None
    """`_meta`"""

    @classmethod
    def _of(cls, value: Any) -> GetPromptResult:
        got = _object(value)
        return cls(got, _of(str, got.get("description")), _items(got.get("messages")), _members(got.get("_meta")))


@dataclass(frozen=True)
class CompleteResult(_Received):
    """The result of `completion/complete`."""

    values: list[str]
    """The completions."""
    total: int | None
    """How many there are in all."""
    has_more: bool
    """There are more than those."""
    meta: dict[str, Any] | None
    """`_meta`"""

    @classmethod
    def _of(cls, value: Any) -> CompleteResult:
        got = _object(value)
        completion = _object(got.get("completion"))
        more = completion.get("hasMore") is True
        total = _of(int, completion.get("total"))
        return cls(got, _items(completion.get("values")), total, more, _members(got.get("_meta")))


@dataclass(frozen=True)
class ToolAnnotations:
    """What the server says of a tool's effects. What it does not say is None."""

    title: str | None
    """A name for people."""
    read_only_hint: bool | None
    """The tool changes nothing."""
    destructive_hint: bool | None
    """The tool may destroy."""
    idempotent_hint: bool | None
    """Calling it again with the same arguments has no further effect."""
    open_world_hint: bool | None
    """The tool reaches beyond the server."""


@dataclass(frozen=True)
class Tool(_Received):
    """One tool of `tools/list`."""

    name: str
    """The name to call it by."""
    title: str | None
    """A name for people."""
    description: str | None
    """What it does."""
    input_schema: dict[str, Any] | None
    """The JSON schema of its arguments."""
    output_schema: dict[str, Any] | None
    """The JSON schema of its structured result."""
    annotations: ToolAnnotations
    """What the server says of its effects."""

    @classmethod
    def _of(cls, value: Any) -> Tool:
        got = _object(value)
        hints = _object(got.get("annotations"))
        annotations = ToolAnnotations(
            _of(str, hints.get("title")),
            _of(bool, hints.get("readOnlyHint")),
            _of(bool, hints.get("destructiveHint")),
            _of(bool, hints.get("idempotentHint")),
            _of(bool, hints.get("openWorldHint")),
        )
        schemas = _members(got.get("inputSchema")), _members(got.get("outputSchema"))
        texts = _of(str, got.get("title")), _of(str, got.get("description"))
        return cls(got, _text(got.get("name")), *texts, *schemas, annotations)


@dataclass(frozen=True)
class Resource(_Received):
    """One resource of `resources/list`."""

    uri: str
    """The URI to read it by."""
    name: str
    """Its name."""
    title: str | None
    """A name for people."""
    description: str | None
    """What it is."""
    mime_type: str | None
    """Its media type."""

    @classmethod
    def _of(cls, value: Any) -> Resource:
        got = _object(value)
        texts = [_of(str, got.get(name)) for name in ("title", "description", "mimeType")]
        return cls(got, _text(got.get("uri")), _text(got.get("name")), *texts)


@dataclass(frozen=True)
class ResourceTemplate(_Received):
    """One template of `resources/templates/list`."""

    uri_template: str
    """The URI template (RFC 6570)."""
    name: str
    """Its name."""
    title: str | None
    """A name for people."""
    description: str | None
    """What it is."""
    mime_type: str | None
    """The media type of what it names."""

    @classmethod
    def _of(cls, value: Any) -> ResourceTemplate:
        got = _object(value)
        texts = [_of(str, got.get(name)) for name in ("title", "description", "mimeType")]
        return cls(got, _text(got.get("uriTemplate")), _text(got.get("name")), *texts)


@dataclass(frozen=True)
class PromptArgument:
    """One argument of a prompt."""

    name: str
    """Its name."""
    description: str | None
    """What it is."""
    required: bool
    """Must it be given?"""


@dataclass(frozen=True)
class Prompt(_Received):
    """One prompt of `prompts/list`."""

    name: str
    """The name to get it by."""
    title: str | None
    """A name for people."""
    description: str | None
    """What it is for."""
    arguments: list[PromptArgument]
    """Its arguments."""

    @classmethod
    def _of(cls, value: Any) -> Prompt:
        got = _object(value)
        arguments = [
            PromptArgument(_text(each.get("name")), _of(str, each.get("description")), each.get("required") is True)
            for each in map(_object, _items(got.get("arguments")))
        ]
        return cls(got, _text(got.get("name")), _of(str, got.get("title")), _of(str, got.get("description")), arguments)


@dataclass(frozen=True)
class _Listed(_Received):
    next_cursor: str | None
    """Where the next page begins. After all pages were asked for, only there if a bound was hit."""
    meta: dict[str, Any] | None
    """`_meta` of the last page."""


@dataclass(frozen=True)
class ListToolsResult(_Listed):
    """The tools of a server: all pages of the list, or the one that was asked for."""

    tools: list[Tool]
    """The tools, in the server's order."""

    @classmethod
    def _of(cls, value: Any) -> ListToolsResult:
        got = _object(value)
        return cls(*_frame(got), [Tool._of(item) for item in _items(got.get("tools"))])


@dataclass(frozen=True)
class ListResourcesResult(_Listed):
    """The resources of a server: all pages of the list, or the one that was asked for."""

    resources: list[Resource]
    """The resources, in the server's order."""

    @classmethod
    def _of(cls, value: Any) -> ListResourcesResult:
        got = _object(value)
        return cls(*_frame(got), [Resource._of(item) for item in _items(got.get("resources"))])


@dataclass(frozen=True)
class ListResourceTemplatesResult(_Listed):
    """The resource templates of a server: all pages of the list, or the one that was asked for."""

    resource_templates: list[ResourceTemplate]
    """The templates, in the server's order."""

    @classmethod
    def _of(cls, value: Any) -> ListResourceTemplatesResult:
        got = _object(value)
        return cls(*_frame(got), [ResourceTemplate._of(item) for item in _items(got.get("resourceTemplates"))])


@dataclass(frozen=True)
class ListPromptsResult(_Listed):
    """The prompts of a server: all pages of the list, or the one that was asked for."""

    prompts: list[Prompt]
    """The prompts, in the server's order."""

    @classmethod
    def _of(cls, value: Any) -> ListPromptsResult:
        got = _object(value)
        return cls(*_frame(got), [Prompt._of(item) for item in _items(got.get("prompts"))])


def _frame(got: dict[str, Any]) -> tuple[dict[str, Any], str | None, dict[str, Any] | None]:
    return got, _of(str, got.get("nextCursor")), _members(got.get("_meta"))
