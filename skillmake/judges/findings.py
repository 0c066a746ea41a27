"""What follows from the judgements of one case: contradictions, soft score, notes for the teacher."""

from collections.abc import Iterator

from skillmake.judges.schemas import Attribution, Findings

TOLERATED = 1


def contradictions(right: bool, findings: Findings, attribution: Attribution | None) -> tuple[str, ...]:
    """Where judgements contradict the graded outcome or each other.

    Four checks, each bound by what the judges are asked and so never failed by judges that are right:

    1. spans: a wrong answer has a flawed step, a right one has a sound step;
    2. sufficiency: nothing is enough for a wrong answer (a right one may be lucky);
    3. reasoning: a wrong answer has a decisive error, a right one has none;
    4. attribution to the skill (wrong answers only): a lapse is a skill that was not followed, a defect is
       one that was.

    A case with more than TOLERATED contradictions counts as degraded. One is outvoted by the other checks:
    of judges that err 20 % of the time independently, some 65 % of the wrong cases have a contradiction,
    but 23 % have two; of those that err 60 % of the time, 79 % have two.
    """
    sound = [span.sound for span in findings.spans.spans]
    enough, subtype = findings.sufficiency.enough, findings.reasoning.subtype
    found = []
    if right and not any(sound):
        found.append("spans: no step is sound, but the answer is right")
    if not right and all(sound):
        found.append("spans: every step is sound, but the answer is wrong")
    if not right and enough:
        found.append("sufficiency: enough for a wrong answer")
    if right != (subtype == "none"):
        found.append(f"reasoning: error {subtype!r} in a {'right' if right else 'wrong'} answer")
    followed = findings.adherence.followed
    if attribution and attribution.blame == "skill" and (attribution.verdict == "lapse") == followed:
        did = "followed" if followed else "not followed"
        found.append(f"attribution: a {attribution.verdict}, but the skill was {did}")
    return tuple(found)


def soft_score(findings: Findings) -> float:
    """Mean of the share of sound spans and the share of evidence found, in [0, 1].

    Where the expected answer rests on no evidence, the spans alone count.
    """
    spans, nodes = findings.spans.spans, findings.evidence.nodes
    shares = [sum(span.sound for span in spans) / len(spans)]
    if nodes:
        shares.append(sum(node.found for node in nodes) / len(nodes))
    return round(sum(shares) / len(shares), 6)


def notes(findings: Findings, attribution: Attribution | None) -> tuple[str, ...]:
    """The faults that the judges found, one line each, and why the text is to blame."""
    lines = [*_faults(findings)]
    if attribution is not None and attribution.why:
        lines.append(f"{attribution.verdict}: {attribution.why}")
    return tuple(" ".join(line.split()).removesuffix(":") for line in lines)


def _faults(findings: Findings) -> Iterator[str]:
    for span in findings.spans.spans:
        if not span.sound:
            yield f"step {span.step} is flawed: {span.why}"
    for node in findings.evidence.nodes:
        if not node.found and node.node:
            yield f"missed evidence: {node.node}"
    if not findings.adherence.followed:
        broken = "; ".join(findings.adherence.broken) or "its skill"
        yield f"did not follow {broken}: {findings.adherence.why}"
    if findings.bias.biased:
        yield f"confirmation bias: {findings.bias.why}"
    if not findings.sufficiency.enough:
        yield f"too little support for the answer: {findings.sufficiency.why}"
    if findings.reasoning.subtype != "none":
        yield f"reasoning, {findings.reasoning.subtype.replace('_', ' ')}: {findings.reasoning.why}"
