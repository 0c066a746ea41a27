"""What each fault of an endpoint becomes: the one table that is tested and from which docs/faults.md is made.

`python -m tests.faults > docs/faults.md` writes the page again.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Outcome = Literal["right", "wrong", "error", "stops"]
RETRIES = 2
ANSWER_BYTES = 100_000
VARIABLE = "FAULTS_KEY"


@dataclass(frozen=True)
class FaultRow:
    """`inject`: the fault as the server takes it; `given`: what else is wrong, at our side.

    `once`: what a call becomes that is hit in its first try; empty where the fault cannot pass.
    `always`: what it becomes when every try is hit, after `tries` tries, with `says` in the message.
    """

    fault: str
    always: Outcome
    tries: int
    says: str
    once: Outcome | Literal[""] = "right"
    inject: Mapping[str, Any] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class WriterRow:
    """What an answer of a teacher or judge becomes that is hit by `kind` each time it is asked."""

    fault: str
    kind: str
    teacher: str
    judge: str


ALL = RETRIES + 1
FAULTS = (
    FaultRow(
        "429 without Retry-After", "error", ALL, "HTTP 429: Rate limit reached.", inject={"kind": "429"}
    ),
    FaultRow(
        "429 with Retry-After in seconds",
        "error",
        ALL,
        "HTTP 429: Rate limit reached.",
        inject={"kind": "429", "retry_after": 0.01},
    ),
    FaultRow(
        "503 with Retry-After as a date, clock of the endpoint two hours ahead",
        "error",
        ALL,
        "HTTP 503: The server had an error while processing your request.",
        inject={"kind": "503", "retry_after": 0, "clock_s": 7200},
    ),
    FaultRow(
        "503 with Retry-After as a date, clock of the endpoint a day behind",
        "error",
        ALL,
        "HTTP 503: The server had an error while processing your request.",
        inject={"kind": "503", "retry_after": 0, "clock_s": -86400},
    ),
    FaultRow("500", "error", ALL, "HTTP 500: The server had an error", inject={"kind": "500"}),
    FaultRow("503", "error", ALL, "HTTP 503: The server had an error", inject={"kind": "503"}),
    FaultRow("timeout", "error", ALL, "no answer within 0.3 s", inject={"kind": "timeout"}),
    FaultRow("connection reset", "error", ALL, "the connection broke: ", inject={"kind": "reset"}),
    FaultRow(
        "answer cut in the middle",
        "error",
        ALL,
        "the answer broke off (RemoteProtocolError)",
        inject={"kind": "cut"},
    ),
    FaultRow("body that is not JSON", "error", ALL, "unreadable answer: body: ", inject={"kind": "bad_body"}),
    FaultRow("no choices", "error", ALL, "the answer has no choices", inject={"kind": "empty_choices"}),
    FaultRow(
        "content filter",
        "error",
        1,
        "refused by the endpoint's content filter",
        once="error",
        inject={"kind": "content_filter"},
    ),
    FaultRow(
        "huge answer",
        "error",
        1,
        f"the answer is longer than limits.answer_bytes, {ANSWER_BYTES}",
        once="error",
        inject={"kind": "huge"},
    ),
    FaultRow(
        "400: a parameter that the model does not take",
        "error",
        1,
        "HTTP 400: Unsupported parameter: this model does not support it.",
        once="error",
        inject={"kind": "400"},
    ),
    FaultRow(
        "finish_reason length",
        "wrong",
        1,
        "cut off at max_tokens before an answer",
        once="wrong",
        inject={"kind": "length"},
    ),
    FaultRow("answer that breaks its JSON schema", "wrong", 1, "", once="wrong", inject={"kind": "bad_json"}),
    FaultRow("empty answer", "wrong", 1, "", once="wrong", inject={"kind": "empty"}),
    FaultRow(
        "wrong model name",
        "stops",
        1,
        "correct models.student.model",
        once="",
        given={"model": "rehearsal-critic"},
    ),
    FaultRow("wrong path in base_url", "stops", 1, "HTTP 404: ", "", given={"path": "/v2"}),
    FaultRow(
        "web page instead of an API", "stops", 1, "a web page came", once="stops", inject={"kind": "page"}
    ),
    FaultRow(
        "wrong key", "stops", 1, f"set {VARIABLE} to a valid key", "", given={"key": "sk-wrong-91c2aa07"}
    ),
    FaultRow("key missing", "stops", 1, f"export {VARIABLE}=…", "", given={"key": ""}),
    FaultRow(
        "key without permission (403)", "stops", 1, "may not do this", once="stops", inject={"kind": "403"}
    ),
    FaultRow(
        "no budget left (429)", "stops", 1, "has no budget left", once="stops", inject={"kind": "quota"}
    ),
    FaultRow("connection refused", "stops", ALL, "start the endpoint", once="", given={"port": "closed"}),
)
WRITERS = (
    WriterRow("500", "500", "call failed: HTTP 500", "the call failed: HTTP 500"),
    WriterRow("content filter", "content_filter", "content filter", "content filter"),
    WriterRow("huge answer", "huge", "limits.answer_bytes", "limits.answer_bytes"),
    WriterRow("finish_reason length", "length", "answer was cut off", "answer was cut off"),
    WriterRow(
        "answer that is not JSON", "bad_json", "cannot be used: there is no JSON", "there is no JSON object"
    ),
    WriterRow("empty answer", "empty", "cannot be used: there is no JSON", "there is no JSON object"),
)
PAGE = f"""\
# Faults of the endpoint

Generated from the table that the tests check (`python -m tests.faults > docs/faults.md`): each row was
injected over HTTP, and the real client behaved as it says.

- **right**: tried again, and the answer counts like any other.
- **error**: the third value, neither right nor wrong. It is in no count and in no gate, it is not kept in
  the call cache, and results with one in them are not kept in the step memo: another run asks again.
- **wrong**: the model did answer, only not with something that can be read; that is its own doing.
- **stops**: no other call would fare better. The job ends with the message; what was answered is kept, and
  the same command goes on.

## A call of the student
The last two columns are of a call whose every try is hit, with `limits.retries: {RETRIES}`.

{{student}}

Between two tries the client waits `limits.retry_wait` seconds, then twice that, and so on, with some jitter,
or what `Retry-After` asks for where that is more; never more than `limits.longest_wait`. A date in
`Retry-After` is read by the `Date` of the same answer, so a clock that is wrong does no harm.

## A set of rollouts
- More than `train.max_error_share` errors stop the rule; the message names the model, its address and the
  most frequent errors.
- More than half of the answers cut off at `max_tokens` stop the rule as well: raise
  `models.student.max_tokens`.
- `limits.give_up_after` calls in a row that fail in all their tries stop the job: the endpoint is down, and
  waiting for each call would take hours.
- A gate with more than `gate.guard_err` errors is `inconclusive`: the candidate is neither accepted nor put
  on the rejected list.

## Teacher and judges
A candidate without a usable answer is `skipped`, a judgement without one is `degraded`; the reason is in the
artefact. An answer that cannot be parsed is repaired once.

{{writers}}

More than `diagnose.max_degraded_share` degraded judgements of wrong answers stop the step. Guidance
(momentum) and new prompts that come without a usable answer are left out in the same way.
"""


def page() -> str:
    """docs/faults.md."""
    student = [
        (row.fault, row.once or "-", row.always, str(row.tries), f"`{row.says.strip()}`" if row.says else "")
        for row in FAULTS
    ]
    writers = [(row.fault, f"skipped: `{row.teacher}`", f"degraded: `{row.judge}`") for row in WRITERS]
    return PAGE.format(
        student=_table(("fault", "hit once", "hit each time", "tries", "what is said"), student),
        writers=_table(("fault", "teacher", "judge"), writers),
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def lines() -> Iterator[str]:
        yield f"| {' | '.join(head)} |"
        yield f"|{' --- |' * len(head)}"
        for row in rows:
            yield f"| {' | '.join(row)} |"

    return "\n".join(lines())


if __name__ == "__main__":
    print(page(), end="")
