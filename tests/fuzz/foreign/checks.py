"""Checks that schemathesis loads: the daemon takes each request that its description allows."""

import uuid

import schemathesis

# Rules that a JSON schema cannot express, by what the refusal says of them.
RULES = (
    "give exactly one of",  # Two parameters of a query.
    "an instant with its offset",
    "an iana time zone",
    "cron",
    "`next` of an earlier page",
    "the same id",
    "nul or a lone surrogate",
    "at most 8192 characters",  # The sum of all keys.
    "a part without a name",  # Before the file of an upload, after which nothing is read.
    "longer than",  # The limits of texts are in bytes, those of schemas in characters.
    "cannot be checked",  # A path of a socket that is no file.
    "is not a socket",
    "is no condition",
    # What is not there.
    "no peer has this name",
    "no registered peer",
    "unknown_attachment",
    "is a plain ask",
)
REFUSED = (400, 413, 415, 422)


@schemathesis.hook
def before_call(context, case, kwargs):
    """A key that was used before belongs to the request that used it."""
    if case.headers and "Idempotency-Key" in case.headers and is_positive(case):
        case.headers["Idempotency-Key"] = str(uuid.uuid4())


@schemathesis.check
def described_request_is_taken(ctx, response, case):
    if not is_positive(case) or response.status_code not in REFUSED:
        return
    text = response.text.lower()
    assert any(rule in text for rule in RULES), f"refused, though it is described: {response.text}"


def is_positive(case):
    return case.meta is not None and case.meta.generation.mode.is_positive
