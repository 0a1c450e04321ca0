"""The words of the verdict. They are the same in every language, in logs and in events."""

from __future__ import annotations

from typing import Literal

Execution = Literal["not_executed", "may_have_executed", "answered"]
"""Did the server carry it out?"""

Proof = Literal["never_sent", "session_rejected", "unauthorized", "refused_stream", "rejected", "rate_limited"]
"""Why the call is known not to have run."""

ProofBasis = Literal["certain", "confirmed", "protocol"]
"""What a proof rests on: it cannot be otherwise; a harmless request of the same session and identity was refused in the same words; or a
challenge that only the client's own login can have caused."""

Kind = Literal[
    "connect",
    "connection_closed",
    "stream_ended",
    "timeout",
    "session_lost",
    "recovery_failed",
    "gateway",
    "http_status",
    "rate_limited",
    "auth",
    "redirect",
    "protocol",
    "too_large",
    "cancelled",
    "closed",
    "config",
    "rpc",
]
"""What went wrong."""

Phase = Literal["queued", "connecting", "sending", "awaiting_headers", "streaming", "resuming"]
"""Where it happened."""

EventName = Literal[
    "connecting",
    "ready",
    "session_lost",
    "session_suspect",
    "recovering",
    "connect_failed",
    "session_replaced",
    "recovery_failed",
    "attempt_failed",
    "resuming",
    "resumed",
    "listener_on",
    "listener_off",
    "restore_failed",
    "tool_dropped",
    "message_dropped",
    "server_stderr",
    "login_needed",
    "login_done",
    "token_refreshed",
    "login_lost",
    "call_finished",
    "closed",
]
"""What happened inside a client."""

State = Literal["idle", "connecting", "ready", "recovering", "lost", "login_needed", "closed"]
"""Where a client stands."""

Resend = Literal["always", "default", "never"]
"""Your word on sending a call again after an ambiguous loss."""

TrustAnnotations = Literal["none", "read_only", "hinted"]
"""Which of the server's tool hints are believed."""

Recovery = Literal["auto", "surface", "off"]
"""What to do about a lost session."""

Era = Literal["auto", "legacy", "modern"]
"""Which era to speak."""
