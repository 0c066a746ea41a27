"""The check of momentum for harm, and what it samples."""

from collections.abc import Callable, Iterable, Sequence

from skillmake.momentum import (
    changed_files,
    sample_units,
)
from skillmake.noninferiority import HarmCheck, Outcomes, check_harm
from skillmake.rounds import in_rounds
from skillmake.units import Unit, make_units
from tests.momenta import GATE, NOW, START
from tests.unit.test_slow import ALPHA
from tests.worlds import question, units


def test_samples_are_whole_units_up_to_the_number_of_questions() -> None:
    """Seven questions in four units: with at most 3 of them, never one half of a pair."""
    pairs = make_units([question(f"{pair}{m}", unit_id=pair) for pair in "wxy" for m in "12"])
    pool = [*pairs, *units(1), *units(5, "beta", "b")]
    seen = set()
    for epoch in range(20):
        chosen = sample_units(pool, ("alpha",), 3, (1, epoch))
        assert sample_units(reversed(pool), ("alpha",), 3, (1, epoch)) == chosen
        assert sum(len(unit.questions) for unit in chosen) == 3
        seen.add(tuple(sorted(unit.unit_id for unit in chosen)))
    assert seen == {("u00", "w"), ("u00", "x"), ("u00", "y")}


def test_a_file_that_went_back_to_the_epoch_start_text_has_not_changed() -> None:
    back = NOW.with_skill(ALPHA, START.skills.files[ALPHA], "rollback")
    assert changed_files(START, NOW, ("beta", "alpha")) == {ALPHA: ("alpha",)}
    assert changed_files(START, back, ("beta", "alpha")) == {}


def climb(ladders: Iterable[Sequence[Sequence[Unit]]], sides: Callable[[Unit], Outcomes]) -> list[HarmCheck]:
    checks = [check_harm(ladder, GATE, harm_at=2, margin=0) for ladder in ladders]
    return in_rounds(checks, lambda rung: [sides(unit) for unit in rung])


def test_the_harm_check_reads_evidence_at_rung_ends_only() -> None:
    """Inside the first rung two losses come first, e(2,0) = 7/3 ≥ 2, but at its end there are two wins."""
    outcomes = {"u00": (1.0, 0.0), "u01": (1.0, 0.0), "u02": (0.0, 1.0), "u03": (0.0, 1.0)}
    rung = units(4)
    found, split = climb([[rung], [rung[:2], rung[2:]]], lambda unit: outcomes[unit.unit_id])
    assert (found.accepted, found.reason) == (True, "not_worse")
    assert (found.numbers.wins, found.numbers.losses) == (2, 2)
    assert (split.accepted, split.reason, len(split.evidence)) == (False, "harmful", 2)


def test_too_many_errors_speak_for_nothing() -> None:
    """One error in four is more than a tenth; it is neither a win nor a loss."""
    (found,) = climb([[units(4)]], lambda unit: (1.0, None if unit.unit_id == "u00" else 1.0))
    assert (found.accepted, found.reason) == (False, "errors")
    assert (found.numbers.errors, found.numbers.n, found.numbers.losses) == (1, 3, 0)


def test_the_next_rungs_of_all_checks_are_rolled_out_together() -> None:
    """The first check ends after one rung and the second after two."""
    rounds: list[list[str]] = []

    def roll_out(rungs: Sequence[Unit]) -> list[Outcomes]:
        rounds.append([unit.unit_id for unit in rungs])
        return [(1.0, 1.0)] * len(rungs)

    short, long = units(2, "alpha", "a"), units(4, "beta", "b")
    checks = [check_harm(each, GATE, harm_at=2, margin=0) for each in ([short], [long[:2], long[2:]])]
    assert [check.numbers.n for check in in_rounds(checks, roll_out)] == [2, 4]
    assert rounds == [["a00", "a01", "b00", "b01"], ["b02", "b03"]]
