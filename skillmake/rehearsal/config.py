"""What a rehearsal world follows from: parameters of the section `rehearsal`."""

from typing import Self

from pydantic import Field, model_validator

from skillmake.artifacts import Artifact


class WorldConfig(Artifact):
    """Everything a rehearsal world follows from."""

    seed: int = Field(1, ge=0, lt=2**31, description="another seed is another world of the same kind")
    types: int = Field(12, ge=1, le=200, description="number of task types")
    units_per_type: int = Field(60, ge=1, le=5000, description="units of each task type")
    pair_share: float = Field(0.1, ge=0, le=1, description="share of units that are twin pairs")
    rules_per_type: int = Field(8, ge=1, le=30, description="latent rules of each task type")
    rules_per_unit_max: int = Field(3, ge=1, le=10, description="most rules that one unit needs")
    options: int = Field(4, ge=2, le=8, description="answer options of each question")
    base_accuracy: float = Field(0.45, ge=0, le=1, description="share of units right with the seed skill")
    skill_gain: float = Field(
        0.5, ge=0, le=1, description="share of units that turn right once all rules are known; the rest never"
    )
    harmful_share: float = Field(0.2, ge=0, le=1, description="share of the teacher's edits that harm")
    useless_share: float = Field(0.65, ge=0, le=1, description="share of the teacher's edits without effect")
    useful_share: float = Field(
        0.15, ge=0, le=1, description="share of the teacher's edits that teach a rule"
    )
    harm_rate: float = Field(0.15, ge=0, le=1, description="share of units one harmful sentence turns wrong")
    churn: float = Field(
        0.05, ge=0, le=0.5, description="share of units whose outcome differs between any two skill texts"
    )
    noise: float = Field(0.1, ge=0, le=1, description="chance that a draw at temperature > 0 is flipped")
    judge_error: float = Field(0.0, ge=0, le=1, description="share of judge answers that invert the truth")
    system_rules: int = Field(
        0,
        ge=0,
        le=30,
        description="latent rules for cases of every type, which belong into the system prompt",
    )
    system_share: float = Field(
        0.25, ge=0, le=1, description="share of the units in need that need one of `system_rules` instead"
    )
    bad_ideas: int = Field(
        300,
        ge=1,
        le=300,
        description="different useless and, up to 60, different harmful edits of a type that the teacher can "
        "think of; with few of them it repeats itself unless it is told what was rejected",
    )
    attentive: bool = Field(
        False,
        description="the teacher reads closely: for each edit it looks at one case that is wrong and no "
        "lapse, finds a useful rule only where that case lacks it, and keeps its earlier guidance",
    )
    teacher_defect: float = Field(0.0, ge=0, le=1, description="share of teacher answers cut or not JSON")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.rules_per_unit_max > self.rules_per_type:
            raise ValueError("rules_per_unit_max must not exceed rules_per_type")
        if self.base_accuracy + self.skill_gain > 1 + 1e-9:
            raise ValueError("base_accuracy + skill_gain must not exceed 1")
        if abs(self.harmful_share + self.useless_share + self.useful_share - 1) > 1e-9:
            raise ValueError("harmful_share + useless_share + useful_share must be 1")
        return self
