"""Every parameter with its description, default and bounds. The words are those of SPEC §2."""

from typing import Literal

from pydantic import Field, model_validator

from skillmake.config.data import Data
from skillmake.config.endpoints import Limits, Models
from skillmake.config.modes import Modes
from skillmake.config.section import RunName, Section
from skillmake.config.train import Train
from skillmake.rehearsal.config import WorldConfig


class Agent(Section):
    """How a question becomes a prompt and an answer becomes right or wrong."""

    environment: str = Field(
        "qa",
        min_length=1,
        description="What the agent can look up: `qa` (nothing), `tree` (a video as a tree of captions and "
        "frames), or a factory of your own, `package.module:factory`.",
    )
    skill_mode: Literal["inline", "tool", "off"] = Field(
        "inline", description="The skill stands in the prompt, is read by a tool, or is left out."
    )
    max_steps: int = Field(8, ge=1, le=100, description="Most model turns of an agent with tools.")
    result_tokens: int = Field(
        600, ge=20, description="Most tokens of a tool's result (four characters each); the rest is cut."
    )
    context_tokens: int = Field(
        16000,
        ge=500,
        description="Prompt tokens of an agent with tools from which the oldest results are dropped.",
    )
    options_in: Literal["system", "question"] = Field(
        "system",
        description="Where the options are listed: once in the system message, or with each question.",
    )
    nearest_examples: int | None = Field(
        4,
        ge=1,
        description="Show only this many of a skill's worked examples, those nearest to the question; "
        "null shows all.",
    )
    constrained: bool = Field(
        True,
        description="Hold the answer to the options where the endpoint can; else extract it from the text.",
    )
    grader: str = Field(
        "choice",
        min_length=1,
        description="`choice`, `exact`, `numeric`, `f1`, or a Python callable `module:function`.",
    )
    tolerance: float = Field(0.0, ge=0, description="`numeric`: largest absolute difference that is right.")
    f1_threshold: float = Field(0.5, gt=0, le=1, description="`f1`: smallest word F1 that is right.")


class Diagnose(Section):
    """How what went wrong in a step is found out (SPEC §4)."""

    method: Literal["rules", "judges"] = Field(
        "rules",
        description="`rules` counts confusions without a model; `judges` asks models.judge about each wrong "
        "answer.",
    )
    right_sample: int = Field(
        4, ge=0, description="`judges` only: right answers of a step that are judged too."
    )
    templates: str = Field(
        "prompts/diagnose", description="`judges` only: folder of the prompt templates of the judges."
    )
    max_degraded_share: float = Field(
        0.5,
        ge=0,
        le=1,
        description="`judges` only: a larger share of wrong answers without a usable judgement stops the "
        "training.",
    )


class Evolve(Section):
    """How an edit of a skill is proposed and applied."""

    teacher: Literal["exemplar", "llm"] = Field(
        "exemplar", description="`exemplar` picks worked examples without a model; `llm` asks the teacher."
    )
    mode: Literal["patch", "rewrite"] = Field(
        "patch", description="`llm` only: single edits, or the whole skill written anew."
    )
    rank: Literal["support", "teacher"] = Field(
        "support",
        description="Which edits are kept when there are more than the budget: those for most cases, or "
        "(`llm` only) those that the teacher ranks first.",
    )
    templates: str = Field(
        "prompts/evolve", description="`llm` only: folder of the prompt templates of the teacher."
    )
    edit_budget_start: int = Field(24, ge=1, description="Most edits of a candidate in the first step.")
    edit_budget_end: int = Field(12, ge=1, description="Most edits of a candidate in the last step.")
    schedule: Literal["linear", "cosine", "constant"] = Field(
        "linear", description="How the edit budget falls from start to end."
    )
    rejected_memory: int | None = Field(
        None,
        ge=0,
        description="Rejected candidates of a type, the latest ones, that the teacher is told of and that "
        "are not gated again; null remembers all since the type's last accept, 0 none.",
    )
    fuzzy_threshold: float = Field(
        88.0, ge=50, le=100, description="Similarity (0-100) from which an anchor that is not exact counts."
    )
    appendix_consolidate_threshold: int = Field(
        20, ge=1, description="Appendix items from which the appendix is consolidated."
    )
    skill_token_cap: int = Field(4000, ge=100, description="Most tokens of a skill (four characters each).")


class Gate(Section):
    """When the evidence admits a candidate (SPEC §6)."""

    n_max: int = Field(40, ge=1, description="Most units of the ladder.")
    rung: int = Field(40, ge=1, description="Units per rung; evidence is read only at a rung's end.")
    e_confirm: float = Field(20.0, gt=1, description="Evidence from which a candidate is accepted.")
    e_provisional: float = Field(
        1.25,
        gt=1,
        description="Evidence at the ladder's end from which a candidate is accepted on probation.",
    )
    delta_min: float = Field(0.0, ge=0, lt=1, description="Smallest shrunk lift of an accepted candidate.")
    lambda_dir: float = Field(
        3.0,
        ge=0,
        description="Total weight of the Dirichlet prior on win, loss and tie that shrinks the lift.",
    )
    w_net_min: int = Field(1, ge=0, description="Smallest W - L of a provisional candidate.")
    min_discordant: int = Field(3, ge=1, description="Fewest units that tell the two apart before an accept.")
    futility: float = Field(
        0.35,
        ge=0,
        lt=1,
        description="A candidate whose chance of enough wins is smaller is rejected early; 0 waits until "
        "an accept is out of reach.",
    )
    shadow: bool = Field(
        False,
        description="After an early rejection ask the rest of the rung all the same, so that the table "
        "shadow_gate knows what other rules would have said; costs calls and decides nothing.",
    )
    carry_steps: int = Field(
        0, ge=0, description="Later steps in which a candidate that came close may go on with fresh units."
    )
    control: Literal["per_candidate", "e_lond"] = Field(
        "per_candidate",
        description="`per_candidate` confirms each candidate at e_confirm; `e_lond` keeps the share of false "
        "confirmations in the whole run below 1/e_confirm.",
    )
    guard_err: float = Field(
        0.10, ge=0, le=1, description="Share of units with errors from which the gate is inconclusive."
    )
    use_diagnosis: bool = Field(
        True, description="Let diagnosis units without a case in the candidate's pack into the ladder."
    )
    p_low: float = Field(0.1, ge=0, le=1, description="Units with a smaller p̂ are not preferred.")
    p_high: float = Field(0.9, ge=0, le=1, description="Units with a larger p̂ are not preferred.")
    probe_quota: float = Field(
        0.2, ge=0, le=1, description="Share of the ladder kept for units outside of p_low..p_high."
    )
    replicates: int = Field(
        1, ge=1, description="Draws of a unit for each side; more than one only at temperature > 0."
    )

    fresh_baseline: bool = Field(
        False,
        description="Draw the baseline anew for each candidate instead of looking it up; only at "
        "temperature > 0.",
    )

    @model_validator(mode="after")
    def _ordered(self) -> "Gate":
        if self.p_low > self.p_high:
            raise ValueError("p_low must not be larger than p_high")
        if self.e_provisional > self.e_confirm:
            raise ValueError("e_provisional must not be larger than e_confirm")
        return self


class Slow(Section):
    """The update at an epoch's end (SPEC §7)."""

    e_rollback: float = Field(
        5.0, gt=1, description="Mirrored evidence from which a version on probation is rolled back."
    )
    e_keep: float = Field(
        3.0,
        ge=0,
        description="Evidence in full validation that ends a probation well; 0 ends every probation at the "
        "first one that does not roll it back.",
    )
    e_drop: float = Field(
        1.25,
        ge=0,
        description="A version on probation whose evidence in full validation is smaller is rolled back.",
    )
    probation_epochs: int = Field(
        2, ge=1, description="Full validations that a probation may last before it is rolled back."
    )
    gamma: float = Field(
        0.5, gt=0, le=1, description="Weight of an epoch's outcomes in the moving average p̂ of a unit."
    )
    momentum: bool = Field(
        True,
        description="Let the teacher write guidance into the momentum block of each skill that the epoch has "
        "changed; does nothing with evolve.teacher: exemplar, which has no model that could write it.",
    )
    momentum_samples: int = Field(
        12,
        ge=1,
        description="Most questions of a skill that are answered with its old and new text for that.",
    )
    gate_momentum: bool = Field(
        True, description="Keep a momentum block only if the gate's ladder does not show it to be worse."
    )
    momentum_margin: float = Field(
        0.05,
        ge=0,
        lt=1,
        description="Net loss, as a share of the ladder's units, up to which a momentum block may stay.",
    )
    evolve_prompts: bool = Field(
        True,
        description="Let the teacher edit the system prompt and the tools' prompts, and take the edits back "
        "if full validation falls; does nothing with evolve.teacher: exemplar.",
    )
    templates: str = Field("prompts/slow", description="Folder of the prompt templates of the slow update.")
    soft_validation: bool = Field(
        True,
        description="With diagnose.method: judges, let two judges score each wrong answer of a full "
        "validation in [0, 1]; only the mixed score, which decides nothing, depends on it.",
    )
    run_holdout_eval: bool = Field(
        False,
        description="Answer the test questions at each epoch's end, only to look at: seed, best, the epoch's "
        "version and the best by mixed score.",
    )


class Config(Section):
    """All parameters of a run."""

    run: RunName = Field("main", description="Name of the run; its files are in runs/<run>.")
    seed: int = Field(1, ge=0, description="Seed of pools, batches, ladders and the exemplar teacher.")
    task_types: tuple[str, ...] | None = Field(
        None, description="Train only these task types; null trains every type that is large enough."
    )
    data: Data = Field(default_factory=Data)
    models: Models = Field(default_factory=Models)
    agent: Agent = Field(default_factory=Agent)
    train: Train = Field(default_factory=Train)
    diagnose: Diagnose = Field(default_factory=Diagnose)
    evolve: Evolve = Field(default_factory=Evolve)
    gate: Gate = Field(default_factory=Gate)
    slow: Slow = Field(default_factory=Slow)
    limits: Limits = Field(default_factory=Limits)
    rehearsal: WorldConfig = Field(default_factory=WorldConfig)
    modes: Modes = Field(default_factory=Modes)

    @model_validator(mode="after")
    def _consistent(self) -> "Config":
        again = "gate.replicates > 1" if self.gate.replicates > 1 else "gate.fresh_baseline"
        if (self.gate.replicates > 1 or self.gate.fresh_baseline) and self.models.student.temperature == 0:
            raise ValueError(
                f"{again} needs models.student.temperature > 0: "
                "at temperature 0 every draw of a unit is the same"
            )
        if self.evolve.teacher == "llm" and self.models.teacher.provider == "local":
            raise ValueError(
                "evolve.teacher: llm needs a capable models.teacher (provider openai or rehearsal); "
                "the embedded model cannot write edits"
            )
        if self.diagnose.method == "judges" and self.models.judge.provider == "local":
            raise ValueError(
                "diagnose.method: judges needs a capable models.judge (provider openai or rehearsal); "
                "the embedded model cannot judge"
            )
        return self
