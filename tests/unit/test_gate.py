"""The gate: each action and stop reason of SPEC §6, with numbers worked out by hand."""

from collections.abc import Callable, Sequence

import pytest

from skillmake.config.models import Gate
from skillmake.gate import Decision, Draw, Tally, Terms, run_gate
from skillmake.units import Unit
from tests.worlds import units

CONFIG = Gate(n_max=40, rung=10, e_confirm=20, e_provisional=2, min_discordant=3, guard_err=0.1, futility=0)


AT_ONCE = CONFIG.model_copy(update={"rung": 20, "min_discordant": 1})


def outcomes(right: str, asked: list[str] | None = None) -> Draw:
    """Outcomes by unit number: `+` right, `-` wrong, `!` error."""

    def draw(wanted: Sequence[Unit]) -> list[float | None]:
        if asked is not None:
            asked.extend(unit.unit_id for unit in wanted)
        return [{"+": 1.0, "-": 0.0, "!": None}[right[int(unit.unit_id[1:])]] for unit in wanted]

    return draw


def climb(
    baseline: str, candidate: str, config: Gate = CONFIG, asked: list[str] | None = None, in_flight: int = 1
) -> Decision:
    all_units = units(len(baseline))
    ladder = [all_units[k : k + config.rung] for k in range(0, len(all_units), config.rung)]
    return run_gate(ladder, outcomes(baseline), outcomes(candidate, asked), config, in_flight=in_flight)


def test_six_wins_confirm_at_the_end_of_the_first_rung() -> None:
    asked: list[str] = []
    decision = climb("------++++" + "-" * 10, "++++++++++" + "+" * 10, asked=asked)
    # e(6,0) = 127/7 = 18.1 is not enough, so the second rung is climbed: e(16,0) confirms.
    assert (decision.action, decision.stop_reason) == ("accept", "confirmed")
    assert decision.e_path[0] == pytest.approx(127 / 7)
    assert decision.numbers.wins == 16
    decision = climb("-------+++" + "-" * 10, "++++++++++" + "+" * 10, asked=(asked := []))
    # e(7,0) = 255/8 = 31.9 confirms, and the second rung is never touched.
    assert decision.action == "accept"
    assert len(asked) == 10
    assert decision.numbers.delta == pytest.approx(0.7)
    assert decision.numbers.delta_shrunk == pytest.approx(7 / 13, abs=1e-6)


def test_evidence_is_not_read_inside_a_rung() -> None:
    """Seven wins in a row confirm after seven units, but the two losses behind them count first."""
    asked: list[str] = []
    decision = climb("-------+++", "+++++++--+", asked=asked)
    assert len(asked) == 10
    assert (decision.numbers.wins, decision.numbers.losses) == (7, 2)
    assert decision.action == "accept_provisional"  # e(7,2) = 968/360 = 2.69


def test_no_change_stops_at_the_bound() -> None:
    """Ten failures, none won: with one unit left even a win gives e = 1.5 < 2."""
    asked: list[str] = []
    decision = climb("-" * 10 + "+" * 10, "-" * 10 + "+" * 10, AT_ONCE, asked)
    assert (decision.action, decision.stop_reason) == ("reject", "futile")
    assert len(asked) == 9


def test_baseline_failures_come_first_in_a_rung() -> None:
    asked: list[str] = []
    climb("+-+-+-+-++", "+" * 10, asked=asked)
    assert asked == ["u01", "u03", "u05", "u07", "u00", "u02", "u04", "u06", "u08", "u09"]


def test_harm_stops_at_a_rung_end() -> None:
    decision = climb("+++++++---" + "-" * 20, "----------" + "-" * 20)
    assert (decision.action, decision.stop_reason) == ("reject", "harmful")
    assert decision.numbers.e_harm == pytest.approx(255 / 8)
    assert decision.numbers.n == 10


def test_exhausted() -> None:
    """Three wins are enough until the last unit of the ladder is lost: e(3,1) = 1.3."""
    decision = climb("---+++++++", "+++++++++-")
    assert (decision.action, decision.stop_reason) == ("reject", "exhausted")
    assert decision.numbers.e == pytest.approx(1.3)


def test_too_few_units_tell_the_two_apart() -> None:
    """e(2,0) = 7/3 passes, but of fewer than three units: a third could only be a loss, e(2,1) = 0.92."""
    decision = climb("--++++++++", "++++++++++")
    assert (decision.action, decision.stop_reason) == ("reject", "futile")
    assert len(decision.evidence) == 1


def test_a_candidate_that_can_hardly_win_stops_early() -> None:
    """Ten failures, none won: three wins are needed, and with a uniform prior on the win rate m more failures
    hold three or more with probability m(m-1)(m-2) / (11·10·9): .212 after three ties, .121 after four.
    """
    hurried = CONFIG.model_copy(update={"rung": 20, "futility": 0.2})
    decision = climb("-" * 10 + "+" * 10, "-" * 10 + "+" * 10, hurried)
    assert (decision.stop_reason, decision.numbers.n) == ("futile", 4)


def test_a_close_candidate_is_carried_where_it_may_be() -> None:
    """Three wins, one loss: e = 1.3 is no accept at 2, but more than nothing."""
    ladder = [units(10)]
    sides = outcomes("---+++++++"), outcomes("+++++++++-")
    decision = run_gate(ladder, *sides, CONFIG, terms=Terms(20, may_carry=True))
    assert (decision.action, decision.stop_reason) == ("inconclusive", "carried")
    # On fresh units the count goes on: two more wins make e(5,1) = 2.86
    prior = Tally(wins=3, losses=1, n=10)
    later = run_gate(ladder, outcomes("--++++++++"), outcomes("+" * 10), CONFIG, terms=Terms(20, prior))
    assert (later.action, later.numbers.wins, later.numbers.losses) == ("accept_provisional", 5, 1)
    assert (later.numbers.n, later.numbers.delta) == (20, 0.2)
    assert later.numbers.e == pytest.approx(20 / 7, abs=1e-6)


def test_another_threshold_than_the_configured_one_may_confirm() -> None:
    """e(7,0) = 31.9: enough for 20, not for 40."""
    sides = outcomes("-" * 7 + "+++"), outcomes("+" * 10)
    assert run_gate([units(10)], *sides, CONFIG, terms=Terms(31)).action == "accept"
    decision = run_gate([units(10)], *sides, CONFIG, terms=Terms(40))
    assert (decision.action, decision.confirm_at) == ("accept_provisional", 40)


def test_provisional_needs_the_net_wins() -> None:
    config = CONFIG.model_copy(update={"w_net_min": 4})
    assert climb("---+++++++", "++++++++++", config).stop_reason == "futile"
    assert climb("----++++++", "++++++++++", config).action == "accept_provisional"


def test_shrunk_lift_must_reach_delta_min() -> None:
    """Three wins of ten: (3-0)/(10+3) = .231."""
    for least, action in ((0.23, "accept_provisional"), (0.24, "reject")):
        config = CONFIG.model_copy(update={"delta_min": least})
        assert climb("---+++++++", "++++++++++", config).action == action


def test_errors_exclude_the_unit_for_both_sides() -> None:
    decision = climb("!---++++++" + "+" * 10, "++++++++++" + "+" * 10)
    assert decision.action == "accept_provisional"
    assert (decision.numbers.wins, decision.numbers.errors, decision.numbers.n) == (3, 1, 19)
    assert decision.evidence[0].outcome != "error"


def test_too_many_errors_are_inconclusive() -> None:
    decision = climb("----++++++", "++++++++!!")
    assert (decision.action, decision.stop_reason) == ("inconclusive", "errors")


def test_no_units() -> None:
    decision = run_gate([], outcomes(""), outcomes(""), CONFIG)
    assert (decision.action, decision.stop_reason) == ("reject", "no_units")


@pytest.mark.parametrize("in_flight", [2, 3, 7, 50])
@pytest.mark.parametrize(
    ("baseline", "candidate"),
    [("-" * 10 + "+" * 10, "-" * 10 + "+" * 10), ("-+" * 10, "+" * 20), ("+-!-" * 5, "-+++" * 5)],
)
def test_the_decision_does_not_depend_on_concurrency(baseline: str, candidate: str, in_flight: int) -> None:
    serial = climb(baseline, candidate)
    assert climb(baseline, candidate, in_flight=in_flight) == serial


def test_known_outcomes_only_sharpen_the_bound() -> None:
    """If all later units are known to be right, no win can come from them."""
    all_units = units(30)
    ladder = [all_units[:10], all_units[10:20], all_units[20:]]
    baseline, candidate = "--" + "+" * 28, "--" + "+" * 28
    know: Callable[[Unit], bool] = lambda unit: baseline[int(unit.unit_id[1:])] == "+"
    known = {unit.unit_id: know(unit) for unit in all_units}
    blind = run_gate(ladder, outcomes(baseline), outcomes(candidate), CONFIG)
    informed = run_gate(ladder, outcomes(baseline), outcomes(candidate), CONFIG, known=known)
    assert blind.action == informed.action == "reject"
    assert informed.numbers.n == 1 < blind.numbers.n
