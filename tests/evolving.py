"""A skill, a pack and an assignment for tests of evolution."""

from dataclasses import dataclass, field

from skillmake.candidate import Candidate
from skillmake.config.models import Evolve
from skillmake.edits import Edit
from skillmake.evolve import Assignment, Proposal, Teacher, make_candidate
from skillmake.gate import GateNumbers
from skillmake.guards import LeakGuard
from skillmake.packs import Case, Pack
from skillmake.state import RejectedEdit

HEAD = "---\nname: parcel-desk\ndescription: Where a parcel goes.\n---\n"
MOMENTUM = "<!-- momentum:begin -->\nKeep it short.\n<!-- momentum:end -->\n"
SKILL = f"{HEAD}\n## Rules\n\n- Be kind.\n\n{MOMENTUM}"
CONFIG = Evolve()
KIND = Edit(op="replace", anchor="- Be kind.", text="- Be quick.", reason="slow", support=("q1",))


def case(question_id: str, text: str = "Where to?") -> Case:
    value = {"question": text, "options": None, "answer": "here", "prediction": "there", "right": False}
    return Case.model_validate({"question_id": question_id, "unit_id": f"unit {question_id}", **value})


PACK = Pack(cases=(case("q2"), case("q1")))


def job(pack: Pack = PACK, rejected: tuple[RejectedEdit, ...] = (), budget: int = 4) -> Assignment:
    return Assignment("parcel desk", SKILL, pack, rejected, budget, (1, 0, "parcel desk"))


def rejection(*edits: Edit) -> RejectedEdit:
    return RejectedEdit(edits=edits, numbers=GateNumbers(losses=2, n=9), step=1, why="futile")


@dataclass
class Fixed:
    """A teacher with one answer, which counts how often it is asked."""

    answer: Proposal
    asked: list[Assignment] = field(default_factory=list)

    def propose(self, assignment: Assignment) -> Proposal:
        self.asked.append(assignment)
        return self.answer


def made(
    teacher: Teacher | Proposal,
    assignment: Assignment | None = None,
    *,
    cooldown: int = 0,
    guard: LeakGuard | None = None,
    config: Evolve = CONFIG,
) -> Candidate:
    teacher = Fixed(teacher) if isinstance(teacher, Proposal) else teacher
    return make_candidate(
        assignment or job(), "parcel-desk/SKILL.md", teacher, guard or LeakGuard([]), config, cooldown
    )


def refused(candidate: Candidate) -> str:
    """Why it never reaches the gate; its text is the old one."""
    assert (candidate.status, candidate.text) == ("skipped", SKILL)
    return candidate.reason
