"""Diagnoses as a page."""

from skillmake.diagnosis_text import diagnosis_text
from skillmake.packs import Diagnosis, Pack
from tests.worlds import case


def found(degraded: int, **packs: Pack) -> Diagnosis:
    return Diagnosis(
        method="judges",
        skill={"alpha": packs.get("alpha", Pack()), "beta": packs.get("beta", Pack())},
        system=packs.get("system", Pack()),
        tools={"read": packs.get("read", Pack())},
        soft={},
        degraded=degraded,
    )


def test_what_went_wrong_is_told_by_the_text_that_is_to_blame() -> None:
    lapse = case("q2", False).model_copy(update={"verdict": "lapse", "notes": ("was in haste", "skimmed")})
    defect = case("q3", False).model_copy(update={"verdict": "defect"})
    blind = case("q4", False).model_copy(update={"prediction": None, "missed": ("n7",)})
    one = found(1, alpha=Pack(cases=(case("q1", True, "yes"), lapse)))
    two = found(0, alpha=Pack(cases=(defect,)), read=Pack(cases=(blind, defect)))
    assert diagnosis_text({"01.001": one, "final_test": two}) == (
        "# Diagnosis\n\n"
        "Rollouts: 01.001, final_test. Method: judges. "
        "3 of 4 answers are wrong; the judges gave nothing usable for 1.\n"
        "\n## Skill: alpha\n\n"
        "2 of 3 answers are wrong.\n"
        "- 1 × defect\n"
        "- 1 × lapse\n"
        "- 2 × `yes` taken for `no`\n"
        "- q2: was in haste; skimmed\n"
        "\n## Tool: read\n\n"
        "2 of 2 answers are wrong.\n"
        "- 1 × defect\n"
        "- 1 × `yes` taken for `no answer`\n"
        "- 1 × `yes` taken for `no`\n"
        "- 1 × `n7` not read\n"
    )
