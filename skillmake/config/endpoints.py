"""Parameters of the models and of the calls to them."""

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

# Such a field cannot change any result, so no rule is re-run when it changes.
UNHASHED: dict[str, Any] = {"hashed": False}


class ModelConfig(BaseModel):
    """One model: who serves it and how it is sampled."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    provider: Literal["openai", "local", "rehearsal"] = Field(
        "local",
        description="`openai`: any endpoint of that API; `local`: the embedded model; "
        "`rehearsal`: the known-truth world.",
    )
    model: str = Field("SmolLM2-135M-Instruct", min_length=1, description="Name of the model.")
    temperature: float = Field(0.0, ge=0, le=2, description="Sampling temperature.")
    max_tokens: int = Field(64, ge=1, description="Most tokens of an answer.")
    base_url: str | None = Field(
        None,
        pattern=r"^https?://",
        description="`openai`: address of the endpoint; null is the provider's own.",
        json_schema_extra=UNHASHED,
    )
    api_key_env: str = Field(
        "OPENAI_API_KEY",
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
        description="`openai`: environment variable that holds the key.",
        json_schema_extra=UNHASHED,
    )
    price_in: float = Field(
        0.0, ge=0, description="Price of a million prompt tokens.", json_schema_extra=UNHASHED
    )
    price_out: float = Field(
        0.0, ge=0, description="Price of a million answer tokens.", json_schema_extra=UNHASHED
    )

    @property
    def title(self) -> str:
        """The name for readers: no folder of a model file, and no model where the rehearsal world answers."""
        if self.provider == "rehearsal":
            return self.provider
        return Path(self.model).name if self.provider == "local" else self.model

    @field_validator("base_url")
    @classmethod
    def _no_secret(cls, value: str | None) -> str | None:
        if value is not None and "@" in value.split("?")[0]:
            raise ValueError("no user or password here; put the key into the variable of api_key_env")
        return value

    @model_validator(mode="after")
    def _local_is_greedy(self) -> "ModelConfig":
        if self.provider == "local" and self.temperature > 0:
            raise ValueError("the embedded model runs at temperature 0 only")
        return self


class Models(BaseModel):
    """The roles, configured apart."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    student: ModelConfig = Field(default_factory=ModelConfig, description="Answers the questions.")
    teacher: ModelConfig = Field(
        default_factory=lambda: ModelConfig(max_tokens=2000),
        description="Proposes edits (evolve.teacher: llm).",
    )
    judge: ModelConfig = Field(
        default_factory=lambda: ModelConfig(max_tokens=1000), description="Judges traces in the diagnosis."
    )
    vision: ModelConfig | None = Field(
        None,
        description="Looks at the pictures that a tool gives; its keys are those of models.student. "
        "null: the student looks at them itself.",
    )

    @field_validator("vision")
    @classmethod
    def _sees(cls, value: ModelConfig | None) -> ModelConfig | None:
        if value is not None and value.provider == "local":
            raise ValueError("the embedded model sees no pictures; use provider openai or rehearsal")
        return value


class Limits(BaseModel):
    """Concurrency, patience and hard caps. None of them changes a result."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    slots: int = Field(2, ge=1, le=256, description="Calls in flight in one job.", json_schema_extra=UNHASHED)
    gate_slots: int = Field(
        10,
        ge=1,
        le=256,
        description="Calls in flight in one gate. It stops when a candidate cannot win any more, and what it "
        "has asked beyond that is paid in vain.",
        json_schema_extra=UNHASHED,
    )
    timeout: float = Field(
        120.0, gt=0, description="Seconds until a call is given up.", json_schema_extra=UNHASHED
    )
    retries: int = Field(5, ge=0, le=20, description="Tries after a failed call.", json_schema_extra=UNHASHED)
    retry_wait: float = Field(
        0.5,
        ge=0,
        description="Seconds before the second try; they double with each try after that, and an endpoint "
        "may ask for more (Retry-After).",
        json_schema_extra=UNHASHED,
    )
    longest_wait: float = Field(
        60.0,
        ge=0,
        description="Most seconds between two tries, whatever is asked.",
        json_schema_extra=UNHASHED,
    )
    give_up_after: int = Field(
        10,
        ge=1,
        description="Calls in a row that fail in all their tries before the job stops.",
        json_schema_extra=UNHASHED,
    )
    answer_bytes: int = Field(
        1_000_000,
        ge=1000,
        description="Most bytes of an answer; a call with a longer one failed.",
        json_schema_extra=UNHASHED,
    )
    max_calls: int | None = Field(
        None, ge=1, description="Paid calls of the run before it stops.", json_schema_extra=UNHASHED
    )
    max_tokens: int | None = Field(
        None, ge=1, description="Paid tokens of the run before it stops.", json_schema_extra=UNHASHED
    )
    max_cost: float | None = Field(
        None, gt=0, description="Money of the run before it stops.", json_schema_extra=UNHASHED
    )
    max_seconds: float | None = Field(
        None,
        gt=0,
        description="Seconds of the run's commands, added up, after which no call begins.",
        json_schema_extra=UNHASHED,
    )
