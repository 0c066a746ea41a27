"""A small run on disk, made by the library's own functions and no model.

Step 1 accepts a candidate of alpha and, on probation, one of beta: two versions, of which only the second
is written. Step 2 carries a candidate of alpha, step 3 accepts it. The epoch's end rolls beta back and puts
a line of guidance into alpha.
"""

from collections.abc import Sequence
from pathlib import Path

from skillmake.artifacts import Artifact, canonical, sha256, write_text
from skillmake.benchmark import Benchmark, Split
from skillmake.candidate import Candidate
from skillmake.config.models import Slow
from skillmake.edits import Edit, EditReport, apply_edits
from skillmake.gate import Action, Decision, EvidenceRow, GateNumbers, StopReason
from skillmake.pools import Pools
from skillmake.prepare import initial_best, seed_notes
from skillmake.questions import dump_questions
from skillmake.rollout import Rollout
from skillmake.settle import GateResult, settle, version_note
from skillmake.slow import choose_best, settle_probations, validate
from skillmake.state import State
from skillmake.texts import Texts, Version
from skillmake.units import make_units
from skillmake.versions import version_files
from tests.worlds import ASKED, question, row

ALPHA, BETA = "alpha/SKILL.md", "beta/SKILL.md"
NAMES = [f"{letter}{k}" for letter in "ab" for k in range(4)]


def seed_text(name: str) -> str:
    return f"---\nname: {name}\ndescription: How to.\n---\n\n## Rules\n\n- Read it.\n- Say {name}.\n"


SEED = Texts(
    skills=Version.of({ALPHA: seed_text("alpha"), BETA: seed_text("beta")}, None, "seed"),
    prompts=Version.of({"system.md": "Answer.\n"}, None, "seed"),
)
FIRST = (
    Edit(op="add", section="Rules", text="- Look twice.", reason="haste", support=("q1", "q2")),
    Edit(op="replace", anchor="- Read it.", text="- Read all of it.", reason="skimmed"),
)
OF_BETA = (Edit(op="add", section="Rules", text="- Guess.", reason="a hunch"),)
CARRIED = (Edit(op="add", anchor="- Look twice.", text="- Look thrice.", reason="still haste"),)


class Guided(Artifact):
    """The shape of every artefact in which a text is made without a candidate."""

    path: str
    text: str
    calls: tuple[str, ...]


class SmallRun:
    """Writes the run; `texts` and `state` are the last ones."""

    def __init__(self, root: Path, name: str = "small") -> None:
        self.root, self.folder = root, root / "runs" / name
        self.texts, self.state = SEED, State.model_construct()
        self._last: str | None = None
        self._all: list[Texts] = [SEED]
        self._prepare()
        self._steps()
        self._end()

    def write(self, name: str, value: object) -> None:
        """An artefact that was made from the one before it."""
        path = self.folder / name
        made = {} if self._last is None else {self._last: sha256((self.root / self._last).read_bytes())}
        plain = value.model_dump(mode="json")  # type: ignore[attr-defined]
        write_text(path, canonical({**plain, "derived_from": made, "made_by": {"rule": "r", "code": "c"}}))
        self._last = path.relative_to(self.root).as_posix()

    def _prepare(self) -> None:
        questions = [question(name, "alpha" if name[0] == "a" else "beta") for name in NAMES]
        data = self.folder / "data"
        dump_questions(data / "questions.jsonl", questions)
        self._last = (data / "questions.jsonl").relative_to(self.root).as_posix()
        pools = Pools(diagnosis=(), validation=tuple(NAMES), test=())
        split = Split(pools=pools, trainable=("alpha", "beta"), dropped={})
        self.write("data/pools.json", split)
        self.write("data/texts.json", SEED)
        self.units, rows = make_units(questions), self.rows("++--+---", "base")
        self.write("data/baseline.json", Rollout.of(SEED, rows))
        self.best = initial_best(SEED, rows, Benchmark(questions, split))
        self.state = State(
            epoch=0,
            step=0,
            total_steps=3,
            correctness={row.question_id: row.observation for row in rows},
            best=self.best.best,
            versions=seed_notes(SEED),
        )
        self.write("init/best.json", self.best)
        self.write("init/state.json", self.state)

    def rows(self, right: str, call: str) -> list[object]:
        return [
            row(name, sign == "+", f"{call}-{name}", task_type="alpha" if name[0] == "a" else "beta")
            for name, sign in zip(NAMES, right, strict=True)
        ]

    def candidate(self, task_type: str, edits: Sequence[Edit], **more: object) -> Candidate:
        path = f"{task_type}/SKILL.md"
        old = self.texts.skills.files[path]
        done = apply_edits(old, edits, budget=9, fuzzy_threshold=80, token_cap=999, leaks=lambda _: None)
        value = {
            "task_type": task_type,
            "path": path,
            "status": "proposed",
            "parent": sha256(old),
            "text": done.text,
            "reports": [EditReport(edit=e.edit, status=e.status) for e in done.reports],
            "budget": 9,
            "pack_units": ("p1", "p2"),
            "calls": (f"teach-{task_type}",),
            **more,
        }
        return Candidate.model_validate(value)

    def step(self, folder: str, step: int, gates: Sequence[GateResult]) -> None:
        for gate in gates:
            self.write(f"{folder}/candidate/{gate.task_type}.json", gate.candidate)
            self.write(f"{folder}/gate/{gate.task_type}.json", gate)
        self.state, self.texts = settle(self.state, self.texts, gates, self.units, step)
        self._write_both(f"{folder}/state.json", f"{folder}/texts.json")

    def _write_both(self, state: str, texts: str) -> None:
        self.write(state, self.state)
        self.write(texts, self.texts)
        self._all.append(self.texts)

    def _steps(self) -> None:
        alpha = decided(self.candidate("alpha", FIRST), "accept", "confirmed", 9)
        beta = decided(self.candidate("beta", OF_BETA), "accept_provisional", "provisional", 3)
        self.step("e01/s001", 1, [alpha, beta])
        tried = self.candidate("alpha", CARRIED)
        self.step("e01/s002", 2, [decided(tried, "inconclusive", "carried", 2)])
        again = self.state.carried["alpha"]
        self.step("e01/s003", 3, [decided(again, "accept", "confirmed", 8)])

    def _end(self) -> None:
        validation = validate(self.texts, self.rows("++++----", "full"), self.units)
        self.write("e01/end/validation.json", validation)
        self.best = choose_best(self.best, validation, self.texts, 1)
        self.write("e01/end/best.json", self.best)
        self.state, self.texts, _ = settle_probations(
            self.state, self.texts, validation, self.units, Slow(e_keep=9, e_drop=2), 0
        )
        self._write_both("e01/end/probation_state.json", "e01/end/probation_texts.json")
        guided = self.texts.skills.files[ALPHA] + "\nKeep calm.\n"
        self.texts = self.texts.with_skill(ALPHA, guided, "momentum of epoch 1")
        self.write("e01/end/momentum.json", Guided(path=ALPHA, text=guided, calls=("guide",)))
        note = version_note(self.texts.skills, 1, 3, "guidance in alpha/SKILL.md")
        versions = (*self.state.versions, note)
        self.state = self.state.model_copy(update={"epoch": 1, "best": self.best.best, "versions": versions})
        self._write_both("e01/end/state.json", "e01/end/texts.json")

    def deliver(self) -> None:
        """Version directories, what is delivered, and metrics made from the best version."""
        for name, text in version_files(self._all, self.state).items():
            write_text(self.folder / "versions" / name, text)
        texts = self.best.texts
        for folder, version in (("skills", texts.skills), ("prompts-delivered", texts.prompts)):
            for name, text in version.files.items():
                write_text(self.root / folder / name, text)
        names = ("e01/end/texts.json", "e01/end/best.json")
        sources = {f"runs/{self.folder.name}/{n}": sha256((self.folder / n).read_bytes()) for n in names}
        metrics = {"run": self.folder.name}
        stamped = {**metrics, "derived_from": sources, "made_by": {}}
        write_text(self.folder / "metrics.json", canonical(stamped))
        write_text(self.root / "metrics.json", canonical(metrics))


def decided(candidate: Candidate, action: Action, stop: StopReason, wins: int) -> GateResult:
    numbers = GateNumbers(wins=wins, losses=1, n=12, e=wins + 0.5)
    evidence = EvidenceRow(unit_id="b0", rung=0, position=0, baseline=0.0, candidate=1.0, outcome="win")
    decision = Decision(action=action, stop_reason=stop, numbers=numbers, evidence=(evidence,), **ASKED)
    return GateResult(
        task_type=candidate.task_type,
        candidate=candidate,
        decision=decision,
        baseline_rows=(row("b0", False, f"old-{candidate.task_type}"),),
        candidate_rows=(row("b0", True, f"new-{candidate.task_type}"),),
    )
