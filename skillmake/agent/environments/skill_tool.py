"""`agent.skill_mode: tool`: the agent reads its skill file by a tool, and only if it wants to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from skillmake.agent.environments.base import Context, Tool, ToolResult
from skillmake.artifacts import digest

READ_SKILL = Tool(
    "read_skill",
    "The skill file for questions of this kind: rules and worked examples. Read it before you begin.",
    {"type": "object", "properties": {}, "additionalProperties": False},
)


@dataclass(frozen=True)
class WithSkill:
    """A context with one more tool, `read_skill`."""

    inner: Context
    skill: str

    @property
    def tools(self) -> tuple[Tool, ...]:
        return (READ_SKILL, *self.inner.tools)

    @property
    def digest(self) -> str:
        return digest([self.inner.digest, self.skill])

    @property
    def evidence(self) -> tuple[str, ...]:
        return self.inner.evidence

    def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        if tool == READ_SKILL.name:
            # Bounded by evolve.skill_token_cap; who sees a part only never sees an edit behind it
            return ToolResult(self.skill, is_uncut=True)
        return self.inner.call(tool, arguments)
