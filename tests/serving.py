"""Questions to the rehearsal server."""

from typing import Any

from skillmake.rehearsal.config import WorldConfig
from skillmake.rehearsal.world import World

WORLD = WorldConfig(types=1, units_per_type=20, churn=0, noise=0)


def ask(world: World, number: int = 0, **more: Any) -> dict[str, Any]:
    unit = [unit for unit in world.units.values() if unit.needs == frozenset()][number]
    messages = [{"role": "user", "content": unit.questions[0]["question"]}]
    return {"model": "rehearsal-student", "messages": messages, "temperature": 0, **more}


def right(world: World, number: int = 0) -> str:
    return [unit for unit in world.units.values() if unit.needs == frozenset()][number].answer


def answer_format(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}


def choice_format(options: list[str]) -> dict[str, Any]:
    properties = {"answer": {"type": "string", "enum": options}}
    rest = {"required": ["answer"], "additionalProperties": False}
    return answer_format({"type": "object", "properties": properties, **rest})
