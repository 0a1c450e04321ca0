"""A question to the caller in the middle of a tool, as the era of 2026-07-28 puts it: the tool answers with it, and is called again."""

from mcp.types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def who() -> InputRequiredResult:
    """The question."""
    params = ElicitRequestFormParams(message="Who are you?", requested_schema=SCHEMA)
    return InputRequiredResult(input_requests={"who": ElicitRequest(params=params)}, request_state="asked once")


def name_in(responses) -> str | None:
    """What was answered, if it was asked."""
    answer = (responses or {}).get("who")
    return None if answer is None else answer.content["name"]
