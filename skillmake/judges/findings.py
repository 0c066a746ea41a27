"""What follows from the judgements of one case: contradictions, soft score, notes for the teacher."""

from collections.abc import Iterator

from skillmake.judges.schemas import Attribution, Evidence, Findings, Spans


def checks(right: bool, findings: Findings, attribution: Attribution | None) -> dict[str, str]:
    """What in the judgements of a case contradicts its graded outcome or another judge; "" where nothing.

    Each check is bound by what the judge is asked, so judges that are right never fail it:

    - spans: a wrong answer has a flawed step, a right one a sound step;
    - reasoning: a wrong answer has a decisive error, a right one has none;
    - evidence (wrong answers only): a piece was missed or not used rightly;
    - sufficiency (wrong answers only): nothing is enough for a wrong answer;
    - attribution (wrong answers only, blame on the skill): a lapse is a skill that was not followed, a defect
      one that was.
    """
    sound = [span.sound for span in findings.spans.spans]
    subtype = findings.reasoning.subtype
    graded = "right" if right else "wrong"
    no_error = subtype == "none"
    found = {
        "spans": "no step is sound" if right and not any(sound) else "",
        "reasoning": f"error {subtype!r} in a {graded} answer" if no_error != right else "",
    }
    if not right:
        nodes = [node.found for node in findings.evidence.nodes]
        found["spans"] = "every step is sound" if all(sound) else ""
        found["evidence"] = "nothing was missed" if nodes and all(nodes) else ""
        found["sufficiency"] = "enough for a wrong answer" if findings.sufficiency.enough else ""
    if attribution is not None and attribution.blame == "skill":
        followed = findings.adherence.followed
        did = f"a {attribution.verdict}, but the skill was {'followed' if followed else 'not followed'}"
        found["attribution"] = did if (attribution.verdict == "lapse") == followed else ""
    return found


def contradiction(right: bool, findings: Findings, attribution: Attribution | None) -> str:
    """Why a case counts as degraded: more than half of its `checks` are contradicted; else "".

    The checks outvote single errors. Of judges that err independently in 20 % of their answers, the rule
    drops 8 % of the wrong cases, of those that err in 60 % it drops 64 % (at least 3 of 5, where four fail
    with probability p and the attribution with 2p(1-p)).
    """
    found = checks(right, findings, attribution)
    failed = [f"{check}: {problem}" for check, problem in found.items() if problem]
    return "; ".join(failed) if 2 * len(failed) > len(found) else ""


def soft_score(judged: Spans, evidence: Evidence, known: float | None = None) -> float:
    """Mean of the share of sound spans and the share of evidence found, in [0, 1].

    `known`: the share of evidence found where the data says where it is; None counts that of the judges.
    Where the expected answer rests on no evidence, the spans alone count.
    """
    spans, nodes = judged.spans, evidence.nodes
    shares = [sum(span.sound for span in spans) / len(spans)]
    if known is not None:
        shares.append(known)
    elif nodes:
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
