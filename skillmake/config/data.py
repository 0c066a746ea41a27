"""Parameters of what a run starts from: its benchmark and its seed texts."""

from typing import Any

from pydantic import Field, model_validator

from skillmake.config.section import NAME, Section


class Pools(Section):
    """Shares of the three pools, by unit and stratified by task type."""

    diagnosis: float = Field(0.33, gt=0, lt=1, description="Share of units that batches are drawn from.")
    validation: float = Field(
        0.37, gt=0, lt=1, description="Share of units for the gate and full validation."
    )
    test: float = Field(0.3, gt=0, lt=1, description="Share of sealed units, only ever observed.")

    @model_validator(mode="after")
    def _sum_to_one(self) -> "Pools":
        if abs(self.diagnosis + self.validation + self.test - 1) > 1e-6:
            raise ValueError("the three shares must sum to 1")
        return self


class Data(Section):
    """Where the benchmark and the seed texts are. Paths are relative to the project."""

    questions: str = Field(
        "data/triage/questions.jsonl",
        description="Questions as JSONL; `rehearsal` makes them from the known-truth world.",
    )
    skills: str = Field("data/triage/skills", description="Folder of seed skills: <slug>/SKILL.md.")
    prompts: str = Field(
        "prompts", description="Folder of seed prompts: system.md, tools/<name>/{extract,verify}.md."
    )
    videos: str = Field(
        "data/videos",
        description="Folder of video trees, <video_id>.json, for an agent.environment that looks things up.",
    )
    seed: str | None = Field(
        None,
        pattern=NAME,
        description="Name of a promoted seed in seeds/: questions, skills and prompts are then taken from it "
        "instead, and its stored rollouts are not asked again.",
    )
    own_skill_per_type: bool = Field(
        True,
        description="Give each trainable type its own copy of default-strategy when it has no skill file.",
    )
    pools: Pools = Field(default_factory=Pools, description="Shares of diagnosis, validation and test.")

    @model_validator(mode="before")
    @classmethod
    def _from_seed(cls, value: Any) -> Any:
        if not isinstance(value, dict) or not isinstance(name := value.get("seed"), str):
            return value
        folder = f"seeds/{name}"
        places = {"questions": f"{folder}/questions.jsonl", "skills": f"{folder}/skills"}
        return {**value, **places, "prompts": f"{folder}/prompts"}
