"""Runs that are killed again and again and continued by the same command, against one that is left alone.

    python -m benchmarks.kill_campaign > benchmarks/kill_campaign.md

A tiny known-truth world over HTTP, so that the endpoint counts what is sent to it. A start is killed (-9)
while it comes up, during its jobs or calls, at a checkpoint or near the end: Snakemake alone, a rule
alone (then Snakemake ends by itself), both, or the whole session. Moments and kinds come from a seed.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import psutil

from skillmake.config.load import overlay
from skillmake.packing import PACK
from skillmake.rehearsal.config import WorldConfig
from skillmake.rehearsal.server import ServerConfig, serve
from tests.integration.conftest import Project

KINDS = ("Snakemake", "a rule", "both", "all")
MOMENTS = {"start-up": 3, "jobs": 3, "calls": 4, "checkpoint": 1, "end": 1}  # how often each is drawn
AT = {"checkpoint": ("runs/*/e*/plan.json",), "end": ("runs/*/final_test.json", "skills", "metrics.json")}
LONGEST = 8  # jobs of a start at most
LATENCY_S = 0.1
SLOTS = 8
IN_FLIGHT = ("--resources", f"llm_slots={SLOTS}")


@dataclass
class Tally:
    """What has happened in all runs with one number of cores."""

    kinds: Counter[str] = field(default_factory=Counter)
    moments: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    differing: int = 0
    paid_twice: int = 0
    manual: int = 0
    other_calls: int = 0
    sent: int = 0
    distinct: int = 0

    @property
    def kills(self) -> int:
        return self.kinds.total()


def start_and_kill(work: Project, cores: int, chance: random.Random, tally: Tally) -> bool:
    """Start the run and kill it at some moment; True when it had ended well before that."""
    process = work.start(cores, *IN_FLIGHT)
    moment = chance.choices(list(MOMENTS), list(MOMENTS.values()))[0]
    if _comes(work, process, moment, chance) and (kind := _kill(process, chance)):
        tally.kinds[kind] += 1
        tally.moments[moment] += 1
        return False
    well = process.wait() == 0
    tally.manual += not well
    return well


def kill_until_done(work: Project, cores: int, chance: random.Random, tally: Tally, most: int) -> None:
    """Start the run until it ends well, and kill at most so many starts."""
    goal = tally.kills + most
    while tally.kills < goal:
        if start_and_kill(work, cores, chance, tally):
            return
    tally.manual += work.start(cores, *IN_FLIGHT).wait() != 0


def _comes(work: Project, process: subprocess.Popen[bytes], moment: str, chance: random.Random) -> bool:
    """Wait for the moment; False when the process has ended before."""
    started, delay, jobs, calls = (
        time.time(),
        chance.uniform(0, 0.5),
        chance.randint(1, 4),
        chance.randint(0, 16),
    )
    if moment == "start-up":
        jobs, delay = 0, chance.uniform(0, 4)
    elif moment == "calls":
        jobs, delay = LONGEST, chance.uniform(0, LATENCY_S)
    elif moment != "jobs":
        jobs = LONGEST  # the file may not come any more
    cache = Path(work.env["SKILLMAKE_CACHE"]) / "calls"

    def new(root: Path, *names: str) -> int:
        return sum(_changed(path) > started for name in names for path in root.glob(name))

    def come() -> bool:
        if moment == "calls" and new(cache, "*/.*.room") and new(cache, "*/[!.]*.json") >= calls:
            return True
        return new(work.root, "runs/*/log/*.log") >= jobs or new(work.root, *AT.get(moment, ())) > 0

    while process.poll() is None:
        if come():
            time.sleep(delay)
            return True
        time.sleep(0.01)
    return False


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _kill(process: subprocess.Popen[bytes], chance: random.Random) -> str | None:
    """Kill at once and wait for Snakemake's end; None when it had ended."""
    if process.poll() is not None:
        return None
    kind = chance.choice(KINDS)
    rules: list[int] = []
    with suppress(psutil.Error):
        rules = [child.pid for child in psutil.Process(process.pid).children()]
    if not rules and kind in ("a rule", "both"):
        kind = "Snakemake"
    rule = chance.choice(rules or [process.pid])
    victims = {"Snakemake": [process.pid], "a rule": [rule], "both": [rule, process.pid]}
    with suppress(ProcessLookupError):
        if kind == "all":
            os.killpg(process.pid, signal.SIGKILL)
        for pid in victims.get(kind, []):
            os.kill(pid, signal.SIGKILL)
    return kind if process.wait() != 0 else None


def differing(one: Project, other: Project) -> list[str]:
    """Files that one has and the other has not, or with other bytes; the logs aside."""
    a, b = one.artefacts(), other.artefacts()
    top_a, top_b = ({path.name for path in work.root.iterdir()} for work in (one, other))
    a[PACK], b[PACK] = ((work.root / PACK).read_bytes() for work in (one, other))
    return sorted({name for name in a.keys() | b.keys() if a.get(name) != b.get(name)} | (top_a ^ top_b))


def _run(place: Path, name: str, play: Callable[[Project], None]) -> tuple[Project, dict[str, int]]:
    """One run to its end, with an endpoint and a cache of its own; and what the endpoint has counted."""
    work = Project(place / name)
    world = WorldConfig(**work.values()["rehearsal"])
    with serve(ServerConfig(world=world, latency_s=LATENCY_S)) as (url, _):
        model = {"provider": "openai", "base_url": f"{url}/v1"}
        models = {role: {**model, "model": f"rehearsal-{role}"} for role in ("student", "teacher", "judge")}
        more: dict[str, Any] = {"models": models, "train": {"epochs": 1}, "limits": {"slots": SLOTS}}
        work.params(overlay(work.values(), more))
        play(work)
        stats: dict[str, int] = json.load(urlopen(f"{url}/stats"))
    return work, stats


def campaign(kills: int, cores: int, seed: int, place: Path) -> Tally:
    """Kill runs until `kills` is reached; the last one is still brought to its end."""
    tally, chance = Tally(), random.Random(f"{seed}-{cores}")
    whole, alone = _run(place, f"whole-{cores}", lambda work: kill_until_done(work, 2, chance, Tally(), 0))
    while tally.kills < kills:
        name = f"killed-{cores}-{tally.runs}"
        left = kills - tally.kills
        killed, stats = _run(place, name, lambda work: kill_until_done(work, cores, chance, tally, left))  # noqa: B023
        tally.runs += 1
        wrong = differing(whole, killed)
        tally.differing += len(wrong)
        keys = Counter(killed.paid())
        tally.paid_twice += keys.total() - len(keys)
        tally.sent += stats["calls"]
        tally.distinct += stats["keys_paid"]
        print(f"{cores} cores, run {tally.runs}: {tally.kills} kills, {wrong}, {stats}", file=sys.stderr)
        tally.other_calls += abs(stats["keys_paid"] - alone["keys_paid"])
    return tally


def report(tallies: dict[int, Tally], seed: int, seconds: float) -> str:
    """The numbers as Markdown."""
    rows = [
        ("kills -9", lambda t: t.kills),
        *((f"… of {kind}", lambda t, kind=kind: t.kinds[kind]) for kind in KINDS),
        *((f"… {moment}", lambda t, moment=moment: t.moments[moment]) for moment in MOMENTS),
        ("runs brought to their end", lambda t: t.runs),
        ("**files that differ** from the run left alone", lambda t: t.differing),
        ("**stored answers paid again**", lambda t: t.paid_twice),
        ("**manual steps needed**", lambda t: t.manual),
        ("**requests more or fewer** than those of the run left alone", lambda t: t.other_calls),
        ("calls sent to the endpoint", lambda t: t.sent),
        ("… different ones", lambda t: t.distinct),
        ("… sent again, as the process that waited for the answer was killed", lambda t: t.sent - t.distinct),
    ]
    head = f"| | {' | '.join(f'`--cores {cores}`' for cores in tallies)} |\n| --- |{' ---: |' * len(tallies)}"
    lines = [f"| {name} | {' | '.join(f'{get(t):,}' for t in tallies.values())} |" for name, get in rows]
    about = f"`python -m benchmarks.kill_campaign`, seed {seed}, {seconds / 60:.0f} minutes; {SLOTS} slots."
    return "\n".join(["# Killed and continued", "", about, "", head, *lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="kills for each number of cores")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    started = time.time()
    with tempfile.TemporaryDirectory() as place:
        tallies = {c: campaign(given.kills, c, given.seed, Path(place)) for c in (1, 8)}
    print(report(tallies, given.seed, time.time() - started))


if __name__ == "__main__":
    main()
