"""Questions to the known-truth world for tests of its roles."""

from skillmake.llm.types import Message
from skillmake.rehearsal.config import WorldConfig
from skillmake.rehearsal.world import Unit, World

# 20 units a type: 9 need nothing, 10 need rules, 1 is beyond help; 4 are pairs, so 24 questions
QUIET = WorldConfig(
    types=2, units_per_type=20, pair_share=0.2, rules_per_type=4, rules_per_unit_max=2, churn=0, noise=0
)


def needy(world: World, count: int) -> Unit:
    return next(unit for unit in world.units.values() if len(unit.needs or ()) == count)


def pack(world: World, text: str = "", note: str = "") -> list[Message]:
    cases = [unit.questions[0]["question"] for unit in world.units.values()][:8]
    return [{"role": "user", "content": "\n".join([f"Skill:\n{text}", *cases, note])}]
