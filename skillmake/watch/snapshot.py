"""All that the live view shows of a run at one moment, as plain values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import process_time
from typing import Any, Literal

from skillmake.pulse import SESSION
from skillmake.watch.calls import CallLogs, Calls
from skillmake.watch.files import Files, modified
from skillmake.watch.gates import GateRow, gate_rows
from skillmake.watch.place import Left, Milestone, Place, behind, place_of, read_milestones, time_left
from skillmake.watch.signs import Running, Session, read_running, read_session

Status = Literal["not started", "training", "finished", "failed", "stopped", "silent"]
QUIET = 180.0  # seconds without any sign from another machine after which the run counts as silent


@dataclass(frozen=True)
class JobRow:
    """A job that runs, with its calls so far."""

    job: Running
    paid: int
    cached: int


@dataclass(frozen=True)
class Snapshot:
    """The run at one moment. `steps`, `steps_done`: of the whole run as planned; `last_sign`: seconds ago."""

    run: str
    status: Status
    now: float
    session: Session | None = None
    place: Place = field(default_factory=Place)
    steps: int | None = None
    steps_done: int = 0
    steps_of_epoch: int | None = None
    seed: float | None = None
    validations: Mapping[int, float] = field(default_factory=dict)
    best: tuple[float, int] | None = None
    batch: tuple[int, int] | None = None
    gates: Sequence[GateRow] = ()
    gate_step: int = 0
    jobs: Sequence[JobRow] = ()
    broken: Sequence[Running] = ()
    calls: Calls = field(default_factory=Calls)
    spent: Mapping[str, float] = field(default_factory=dict)
    left: Left | None = None
    last_sign: float | None = None


class Watcher:
    """Looks at one run again and again; what has not changed is not read twice."""

    def __init__(self, run_dir: Path) -> None:
        self.run_dir = run_dir
        self._files, self._logs = Files(), CallLogs(run_dir / "log" / "calls")
        self.cost = 0.0  # seconds of CPU that the last look took

    def look(self, now: float) -> Snapshot:
        """The run as it is; `now` in seconds since 1970."""
        began = process_time()
        snap = self._look(now)
        self.cost = process_time() - began
        return snap

    def _look(self, now: float) -> Snapshot:
        log_dir = self.run_dir / "log"
        session = read_session(self._files, log_dir)
        jobs = read_running(self._files, log_dir, now)
        milestones = read_milestones(self._files, self.run_dir)
        self._logs.look()
        signs = [*(job.seen for job in jobs), *(each.time for each in milestones)]
        beat = modified(log_dir / SESSION) if session else None
        last = max([*signs, beat] if beat is not None else signs, default=None)
        status = status_of(session, jobs, milestones, None if last is None else now - last)
        if status == "not started":
            return Snapshot(self.run_dir.name, status, now)
        place = place_of(jobs, milestones)
        view = _View(self._files, self.run_dir, jobs, milestones, place, status)
        since = session.started if session else 0.0
        return Snapshot(
            run=self.run_dir.name,
            status=status,
            now=now,
            session=session,
            place=place,
            steps=view.steps(session.epochs if session else None),
            steps_done=view.done("step"),
            steps_of_epoch=view.steps_of_epoch,
            seed=view.seed,
            validations=view.validations,
            best=view.best,
            batch=view.batch,
            gates=view.gates,
            gate_step=view.gate_step,
            jobs=[JobRow(job, *self._logs.of_job(job.name, job.started)) for job in jobs if job.is_alive],
            broken=[job for job in jobs if not job.is_alive],
            calls=self._logs.counts(now, since),
            spent=self._files.part(log_dir / "spent.json", "spent", _spent) or {},
            left=view.left(session, now) if status == "training" else None,
            last_sign=None if last is None else now - last,
        )


def status_of(
    session: Session | None, jobs: Sequence[Running], milestones: Sequence[Milestone], silence: float | None
) -> Status:
    """What becomes of the run; a Snakemake that was killed has not said so."""
    if any(job.is_alive for job in jobs):
        return "training"
    if session is None or session.how == "ended":
        if not milestones:
            return "not started"
        return "finished" if milestones[-1].kind == "final_test" else "stopped"
    if session.how is not None:
        return "finished" if session.how == "finished" else "failed"
    if session.is_here:
        return "training" if session.is_alive else "stopped"
    return "training" if silence is not None and silence < QUIET else "silent"


def _spent(value: Any) -> dict[str, float]:
    spent = {name: float(value[name]) for name in ("calls", "tokens", "cost")}
    return {**spent, "seconds": sum(map(float, value.get("sessions", {}).values()))}


@dataclass(frozen=True)
class _View:
    """What the artefacts say up to a place; behind it there may be results of an earlier session."""

    files: Files
    run_dir: Path
    jobs: Sequence[Running]
    milestones: Sequence[Milestone]
    place: Place
    status: Status

    def steps(self, epochs: int | None) -> int | None:
        """Steps of the run: those that are planned, and as many in each epoch to come as in the last one."""
        if self.place.stage == "prepare":
            return None
        planned = [count for e in self._planned if (count := len(self._types(e)))]
        if epochs is None or not planned:
            path = self.run_dir / "init/state.json"
            return self.files.part(path, "steps", lambda value: int(value["total_steps"]))
        to_come = 0 if self.place.stage == "deliver" else max(0, epochs - self._planned[-1])
        return sum(planned) + to_come * planned[-1]

    @property
    def _planned(self) -> list[int]:
        """Epochs with a plan, the last one of a run may be to stop."""
        return [each.place.epoch for each in self._behind() if each.kind == "plan"]

    def done(self, kind: str) -> int:
        """Milestones of a kind that lie behind."""
        return len([each for each in self._behind() if each.kind == kind])

    def _behind(self) -> list[Milestone]:
        """Milestones up to the place."""
        return behind(self.milestones, self.place, self.jobs)

    def _types(self, epoch: int) -> list[list[str]]:
        """Task types of each step of an epoch."""
        path = self.run_dir / f"e{epoch:02d}" / "plan.json"
        pick = lambda value: [list(batch["types"]) for batch in value["batches"]]
        return self.files.part(path, "types", pick) or []

    @property
    def steps_of_epoch(self) -> int | None:
        return len(self._types(self.place.epoch)) or None

    @property
    def seed(self) -> float | None:
        path = self.run_dir / "init/best.json"
        return self.files.part(path, "accuracy", lambda value: float(value["best"]["accuracy"]))

    @property
    def validations(self) -> dict[int, float]:
        out = {}
        for each in self._behind():
            if each.kind == "validation":
                path = self._end(each.place.epoch) / "scores.json"
                hard = self.files.part(path, "hard", lambda value: float(value["overall"]["hard"]))
                if hard is not None:
                    out[each.place.epoch] = hard
        return out

    @property
    def best(self) -> tuple[float, int] | None:
        pick = lambda value: (float(value["best"]["accuracy"]), int(value["best"]["epoch"]))
        for epoch in sorted(self.validations, reverse=True):
            for name in ("best", "settled_best"):
                found = self.files.part(self._end(epoch) / f"{name}.json", "best", pick)
                if found is not None:
                    return found
        return self.files.part(self.run_dir / "init/best.json", "best", pick)

    def _end(self, epoch: int) -> Path:
        return self.run_dir / f"e{epoch:02d}" / "end"

    @property
    def gate_step(self) -> int:
        """The step whose gates are shown: that of the place, or the last one of its epoch."""
        if self.place.stage == "end":
            return len(self._types(self.place.epoch))
        return self.place.step if self.place.stage == "step" else 0

    @property
    def _step_dir(self) -> Path:
        return self.run_dir / f"e{self.place.epoch:02d}" / f"s{self.gate_step:03d}"

    @property
    def batch(self) -> tuple[int, int] | None:
        """Right questions of the batch, and all of it."""
        is_made = any(each.kind == "rollout" and each.place == self.place for each in self._behind())
        pick = lambda value: (sum(row["right"] is True for row in value["rows"]), len(value["rows"]))
        return self.files.part(self._step_dir / "rollout.json", "batch", pick) if is_made else None

    @property
    def gates(self) -> list[GateRow]:
        types = self._types(self.place.epoch)
        if not 0 < self.gate_step <= len(types):
            return []
        of_step = [job for job in self.jobs if (job.epoch, job.step) == (self.place.epoch, self.gate_step)]
        return gate_rows(self.files, self._step_dir, types[self.gate_step - 1], of_step)

    def left(self, session: Session | None, now: float) -> Left | None:
        steps = self.steps(session.epochs) if session else None
        if session is None or steps is None or self.place.stage == "deliver":
            return None
        steps_left = max(0, steps - self.done("step"))
        ends_left = max(0, session.epochs - self.done("end"))
        return time_left(self.milestones, self.place, steps_left, ends_left, session.started, now)
