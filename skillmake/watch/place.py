"""Where a run is: its milestones in order of time, the place it has come to, and how long is left."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Literal

from skillmake.watch.files import Files, modified, names
from skillmake.watch.signs import Running

Stage = Literal["prepare", "step", "end", "deliver"]
LAST_FEW = 5  # steps and epoch ends that the time left is estimated from
PREPARING = ("questions", "pools", "seed", "baseline", "init")
# Milestones of an epoch's end in order of time
ENDING = {
    "measured": "validation.json",
    "validation": "scores.json",
    "momentum": "momentum.json",
    "prompts": "prompts.json",
    "second": "validation2.json",
    "end": "state.json",
}
# Rules that come before a milestone at their place; before any other come all of them
BEFORE = {
    "baseline": ("questions", "pools", "seed", "baseline"),
    "plan": ("plan",),
    "rollout": ("rollout",),
    "measured": ("val_eval",),
    "validation": ("val_eval", "soft_eval", "scores"),
    "momentum": ("val_eval", "write_back", "probations", "momentum"),
    "prompts": ("val_eval", "write_back", "probations", "momentum", "prompts"),
}
DELIVERY = (99, 999, True, True)


@dataclass(frozen=True, order=True)
class Place:
    """A point in the training, in order: epoch 0 prepares, step 0 of an epoch plans it, `is_end` ends it."""

    epoch: int = 0
    step: int = 0
    is_end: bool = False
    is_delivery: bool = False

    @property
    def stage(self) -> Stage:
        if self.is_delivery:
            return "deliver"
        if self.is_end:
            return "end"
        return "step" if self.epoch else "prepare"


@dataclass(frozen=True)
class Milestone:
    """An artefact that ends something, and when that was."""

    place: Place
    kind: str
    time: float


def read_milestones(files: Files, run_dir: Path) -> list[Milestone]:
    """What is there of the baseline, plans, steps, ends of epochs and final test, in the order of the DAG."""
    found = [
        (Place(), "baseline", run_dir / "data/baseline.json"),
        (Place(), "init", run_dir / "init/state.json"),
    ]
    for folder in names(run_dir, "e[0-9][0-9]"):
        epoch = int(folder.name[1:])
        plan = folder / "plan.json"
        # The plan that stops the training begins no epoch: what follows it is the delivery
        stops = files.part(plan, "stops", lambda value: bool(value["stop"]))
        found.append((Place(*DELIVERY) if stops else Place(epoch), "plan", plan))
        for step in names(folder, "s[0-9][0-9][0-9]"):
            place = Place(epoch, int(step.name[1:]))
            found += [(place, "rollout", step / "rollout.json"), (place, "step", step / "state.json")]
        last = Place(epoch, 999, is_end=True)
        found += [(last, kind, folder / "end" / name) for kind, name in ENDING.items()]
    found.append((Place(*DELIVERY), "final_test", run_dir / "final_test.json"))
    times = [(place, kind, modified(path)) for place, kind, path in found]
    return [Milestone(place, kind, time) for place, kind, time in times if time is not None]


def place_of(jobs: Sequence[Running], milestones: Sequence[Milestone]) -> Place:
    """Where the jobs are that run; else what was made last, whatever older results lie behind it."""
    places = [place_of_job(job) for job in jobs if job.is_alive]
    if places:
        return max(places)
    newest = max(milestones, key=lambda each: (each.time, each.place), default=None)
    return newest.place if newest else Place()


def place_of_job(job: Running) -> Place:
    if not job.epoch:
        return Place() if job.rule in PREPARING else Place(*DELIVERY)
    if not job.step and job.rule != "plan":
        return Place(job.epoch, 999, is_end=True)
    return Place(job.epoch, job.step)


def behind(milestones: Sequence[Milestone], place: Place, jobs: Sequence[Running]) -> list[Milestone]:
    """Milestones before the place, and those at it that are of now: what jobs at the place come before, or
    what is older than what it was made from, is left from an earlier session."""
    out = [each for each in milestones if each.place < place]
    latest = max((each.time for each in out), default=0.0)
    running = {job.rule for job in jobs if job.is_alive and place_of_job(job) == place}
    for each in milestones:
        if each.place != place:
            continue
        if each.time < latest or running & set(BEFORE.get(each.kind, running)):
            break
        out.append(each)
        latest = each.time
    return out


@dataclass(frozen=True)
class Left:
    """Seconds that are left, as far as can be told; `is_least`: there is work of which none was done yet."""

    seconds: float
    is_least: bool


def time_left(
    milestones: Sequence[Milestone], place: Place, steps_left: int, ends_left: int, since: float, now: float
) -> Left | None:
    """An estimate by the last steps and ends of epochs that this session has done; None before the first.

    `steps_left`, `ends_left`: counted with those that are under way, of which the time so far is taken off.
    """
    steps, ends = durations(milestones, place, since)
    if (steps_left and not steps) or not (steps or ends):
        return None
    in_step = steps_left * median(steps[-LAST_FEW:]) if steps_left else 0.0
    in_end = ends_left * median(ends[-LAST_FEW:]) if ends else 0.0
    last = max((each.time for each in milestones if each.place <= place), default=now)
    under_way = now - last if place.stage in ("step", "end") else 0.0
    seconds = max(0.0, in_step + in_end - max(0.0, under_way))
    return Left(seconds, is_least=bool(ends_left) and not ends)


def durations(milestones: Sequence[Milestone], place: Place, since: float) -> tuple[list[float], list[float]]:
    """Seconds of each step and of each end of an epoch that began in the session, in order of time.

    Only what lies before the place: behind it there may be results of an earlier session.
    """
    steps: list[float] = []
    ends: list[float] = []
    before: Milestone | None = None
    for each in milestones:
        if each.kind not in ("init", "plan", "step", "end") or each.place > place:
            continue
        if before is not None and since <= before.time <= each.time and each.kind in ("step", "end"):
            (steps if each.kind == "step" else ends).append(each.time - before.time)
        before = each
    return steps, ends


def clock(seconds: float) -> str:
    """A duration as people say it."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 3600:
        return f"{whole // 60} min"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
