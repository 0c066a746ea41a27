"""What each part of the training is worth: runs with one part left out, in worlds whose truth is known.

    nice python -m benchmarks.ablations > benchmarks/ablations.md

Eight minutes on two cores; `--seeds 5` is a first look. Each seed is another world, other pools and
other batches; every variant trains in the same ones, so the differences are paired. The runs are those of the
DAG (see `in_process`), and what they cost is counted as from an empty cache.
"""

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path
from statistics import mean, stdev
from typing import Any
from unittest.mock import patch

import yaml

from benchmarks.in_process import ROOT, Change, Memory, Run, workshop
from skillmake.artifacts import read_model
from skillmake.benchmark import Benchmark, questions_of
from skillmake.config.load import overlay
from skillmake.diagnose import confusions
from skillmake.errors import TrainingAborted
from skillmake.job import Job
from skillmake.metrics import bootstrap_interval
from skillmake.packs import Case, Diagnosis, Pack
from skillmake.questions import Question
from skillmake.rehearsal.config import WorldConfig
from skillmake.rehearsal.world import SENTENCE, world_of
from skillmake.slow import BestReport
from skillmake.units import seeded

Params = Mapping[str, Any]


def random_packs(job: Job) -> dict[str, Any]:
    """A diagnosis that knows nothing: every case is exchanged for a random diagnosis question of its pool.

    How many are wrong, and all that was said of them, stays; it is said of the wrong questions.
    """
    found = Diagnosis.model_validate_json(job.results["diagnosis"])
    questions = questions_of(Benchmark.read(job.path("questions"), job.path("pools")).diagnosis)
    seed = (job.config.seed, *job.wildcards.values())

    def exchanged(pack: Pack, name: str) -> Pack:
        pool = [question for question in questions if name in ("", question.task_type)]
        drawn = seeded("random packs", *seed, name).sample(pool, len(pack.cases))
        cases = tuple(about(case, other) for case, other in zip(pack.cases, drawn, strict=True))
        return Pack(cases=cases, confusions=confusions(c for c in cases if c.verdict != "lapse"))

    skill = {name: exchanged(pack, name) for name, pack in found.skill.items()}
    job.write("diagnosis", found.model_copy(update={"skill": skill, "system": exchanged(found.system, "")}))
    return job.results


def about(case: Case, other: Question) -> Case:
    """What is said of a case, said of another question."""
    wrong = next(option for option in other.options or () if option != other.answer)
    asked = {
        name: getattr(other, name) for name in ("question_id", "unit_id", "question", "options", "answer")
    }
    return case.model_copy(update={**asked, "prediction": other.answer if case.right else wrong})


@dataclass(frozen=True)
class Variant:
    """Parameters on top of the world's, and what is done to results of rules."""

    name: str
    params: Params = field(default_factory=dict)
    changes: Mapping[str, Change] = field(default_factory=dict)


@dataclass(frozen=True)
class Setting:
    """A world, as parameters on top of the shipped ones, and what is trained in it."""

    title: str
    params: Params
    variants: Sequence[Variant]


FULL = Variant("everything")
FOR_GOOD = {"e_keep": 0.0, "e_drop": 0.0, "e_rollback": 1e9}
PARTS = (
    FULL,
    Variant("no rejected list", {"evolve": {"rejected_memory": 0}}),
    Variant("no probation: what is not confirmed is rejected", {"gate": {"e_provisional": 20.0}}),
    Variant("no probation: what is provisional stays", {"slow": FOR_GOOD}),
    Variant("no momentum", {"slow": {"momentum": False}}),
    Variant("no prompt evolution", {"slow": {"evolve_prompts": False}}),
    Variant("no diagnosis: random packs", {}, {"diagnose_step": random_packs}),
)
JUDGES = (
    Variant("no judges: packs by rule", {"diagnose": {"method": "rules"}}),
    *(Variant(f"judges wrong {e:.0%}", {"rehearsal": {"judge_error": e}}) for e in (0.0, 0.2, 0.6)),
)
CHANCES = {"system_rules": 3, "system_share": 0.25, "bad_ideas": 6, "attentive": True}
SETTINGS = (
    Setting("The world as it is shipped", {}, PARTS),
    Setting(
        "A world in which each part can matter",
        {"train": {"epochs": 3}, "rehearsal": CHANCES},
        (*PARTS, *JUDGES),
    ),
)


@dataclass(frozen=True)
class Outcome:
    """A run: true accuracies of seed and delivered texts, sentences of each kind in these, calls by role.

    `stopped`: the message of a run that was stopped; the rest is then empty.
    """

    seed: float = 0.0
    delivered: float = 0.0
    kinds: Mapping[str, int] = field(default_factory=dict)
    calls: Mapping[str, int] = field(default_factory=dict)
    stopped: str = ""


def base_params() -> dict[str, Any]:
    """The shipped configuration of the known-truth world with judges."""
    params: dict[str, Any] = {}
    for name in ("params.yaml", "configs/rehearsal-judges.yaml"):
        params = overlay(params, yaml.safe_load((ROOT / name).read_text()))
    # Soft scores of full validations are only looked at, and every third judge call would be for them
    return overlay(params, {"slow": {"soft_validation": False}})


def outcome(params: Params, variant: Variant, memory: Memory) -> Outcome:
    """Train a variant; what its rules print is dropped."""
    config = overlay(params, variant.params)
    run = Run(config, memory, variant.changes)
    with (
        Path(os.devnull).open("w") as nowhere,
        redirect_stdout(nowhere),
        redirect_stderr(nowhere),
        # The interval of the sealed test, which is not read here, takes a tenth of the time
        patch("skillmake.metrics.BOOTSTRAP_DRAWS", 100),
    ):
        try:
            metrics = run.train()
        except TrainingAborted as error:
            return Outcome(stopped=error.message)
    best = read_model(
        max(path for path in run.made if path.endswith("/best.json") and "/e" in path), BestReport
    )
    truth = metrics["rehearsal"]["true_accuracy"]
    world = world_of(WorldConfig.model_validate(config["rehearsal"]))
    texts = [best.texts.system, *(best.texts.skill(task_type.name) for task_type in world.types)]
    known = [world.sentences.get(sentence) for text in texts for sentence in SENTENCE.findall(text)]
    kinds = Counter[str](found[0] for found in known if found)
    return Outcome(truth["seed"], truth["delivered"], kinds, metrics["calls"])


def run_seed(seed: int, settings: Sequence[Setting]) -> list[list[Outcome]]:
    """Outcomes of all variants, by setting; the runs of a seed share what their parameters do not touch."""
    with workshop() as memory:
        own = overlay(base_params(), {"seed": seed, "rehearsal": {"seed": seed}})
        return [
            [outcome(overlay(own, setting.params), variant, memory) for variant in setting.variants]
            for setting in settings
        ]


def mean_se(values: Sequence[float]) -> str:
    """Mean ± standard error."""
    error = stdev(values) / sqrt(len(values)) if len(values) > 1 else float("nan")
    return f"{mean(values):.3f} ± {error:.3f}"


def compared(gains: Sequence[float]) -> list[str]:
    """Mean of the paired differences from the full system with its 95 % interval, and what it says."""
    low, high = bootstrap_interval(gains, ("ablations",))
    if not any(gains):
        said = "the same in every run"
    elif low <= 0 <= high:
        said = "no difference shown"
    else:
        said = "worse" if high < 0 else "better"
    return [f"{mean(gains):+.3f} [{low:+.3f}, {high:+.3f}]", said]


def row(variant: Variant, found: Sequence[Outcome], full: Sequence[Outcome]) -> str:
    """A line of the table; only runs that came to their end count, in pairs."""
    pairs = [(mine, other) for mine, other in zip(found, full, strict=True) if not mine.stopped]
    cells = [variant.name, str(len(found) - len(pairs))]
    if not pairs:
        return "| " + " | ".join([*cells, *["–"] * (len(COLUMNS) - 1)]) + " |"
    cells.append(mean_se([mine.delivered for mine, _ in pairs]))
    gains = [mine.delivered - other.delivered for mine, other in pairs]
    cells += ["", ""] if variant is FULL else compared(gains)
    cells += [
        f"{mean(mine.kinds.get(k, 0) for mine, _ in pairs):.2f}" for k in ("useful", "useless", "harmful")
    ]
    cells += [f"{mean(mine.calls[r] for mine, _ in pairs):,.0f}" for r in ("student", "teacher", "judge")]
    return "| " + " | ".join(cells) + " |"


HEAD = """\
# What each part is worth

`python -m benchmarks.ablations`; {seeds} seeds, {runs} runs, {cpu:,.0f} s of CPU time. Read in `results.md`.

True accuracy of the delivered texts ± standard error, and its difference from the full system, paired by
seed, with its 95 % interval (bootstrap over seeds); sentences of each kind in the delivered texts, where a
useless one is an edit that was delivered for nothing; calls from an empty cache. `stopped`: runs that ended
with an error; the means are over the others. Of twenty intervals one misses the truth."""
COLUMNS = (
    *("stopped", "true accuracy", "difference [95 %]", "so it is", "useful", "useless", "harmful"),
    *("student calls", "teacher calls", "judge calls"),
)
TAIL = """
## How a part is left out

`evolve.rejected_memory: 0`; `gate.e_provisional: 20`, or `slow: {e_keep: 0, e_drop: 0, e_rollback: 1e9}`;
`slow.momentum: false`; `slow.evolve_prompts: false`; `diagnose.method: rules`. Random packs are made by
the benchmark: each pack keeps its size, its marks and its judgements, but its cases are random diagnosis
questions. `judges wrong` is `rehearsal.judge_error`, 10 % in the other rows. All runs have
`slow.soft_validation: false`, which decides nothing.

## How runs were stopped
"""


def table(setting: Setting, found: Sequence[Sequence[Outcome]]) -> str:
    """`found`: by variant, then by seed."""
    shown = yaml.safe_dump(dict(setting.params), default_flow_style=True, width=10**6).strip()
    added = f" with `{shown}`" if setting.params else ""
    seed = mean(outcome.seed for outcome in found[0])
    return "\n".join(
        [
            f"\n## {setting.title}\n",
            f"`configs/rehearsal-judges.yaml`{added}. True accuracy of the seed texts: {seed:.3f}.\n",
            "| variant | " + " | ".join(COLUMNS) + " |",
            "| --- |" + " ---: |" * len(COLUMNS),
            *(row(variant, mine, found[0]) for variant, mine in zip(setting.variants, found, strict=True)),
        ]
    )


def messages(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """Each kind of message once, with an example."""
    kinds: dict[str, list[str]] = {}
    for stopped in (found.stopped for found in outcomes if found.stopped):
        kinds.setdefault(stopped.split(" for ")[0], []).append(stopped)
    for _, same in sorted(kinds.items()):
        yield f"- {len(same)} runs, such as: {same[0]}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seeds", type=int, default=20, help="worlds of each kind")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    options = parser.parse_args(arguments)
    by_seed = []
    with ProcessPoolExecutor(options.workers) as workers:
        for found in workers.map(timed, range(1, options.seeds + 1)):
            by_seed.append(found)
            print(f"{len(by_seed)} of {options.seeds} seeds", file=sys.stderr)
    for line in report(by_seed):
        print(line)


def timed(seed: int) -> tuple[list[list[Outcome]], float]:
    """Outcomes of a seed and the CPU seconds they took."""
    before = time.process_time()
    return run_seed(seed, SETTINGS), time.process_time() - before


def report(by_seed: Sequence[tuple[list[list[Outcome]], float]]) -> Iterator[str]:
    """Parts of the Markdown report."""
    seeds, cpu = len(by_seed), sum(seconds for _, seconds in by_seed)
    runs = seeds * sum(len(setting.variants) for setting in SETTINGS)
    yield HEAD.format(seeds=seeds, runs=runs, cpu=cpu)
    for place, setting in enumerate(SETTINGS):
        variants = range(len(setting.variants))
        yield table(setting, [[found[place][k] for found, _ in by_seed] for k in variants])
    yield TAIL
    yield from messages(one for found, _ in by_seed for outcomes in found for one in outcomes)


if __name__ == "__main__":
    main()
