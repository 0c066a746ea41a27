"""Parameters of the loop itself."""

from pydantic import Field

from skillmake.config.section import Section


class Train(Section):
    """The loop: epochs, batches, which types can be trained, when to stop."""

    epochs: int = Field(2, ge=0, le=99, description="Most epochs; 0 only measures the seed.")
    batch_size: int = Field(150, ge=1, description="Most units per batch.")
    min_class_per_batch: int = Field(8, ge=1, description="Units of each task type present in a batch.")
    batch_correct_ratio: float = Field(
        0.4, ge=0, lt=1, description="Share of units in a batch that are answered right now."
    )
    eval_min_per_class: int = Field(5, ge=1, description="A type with fewer validation units is dropped.")
    trainable_min_units: int = Field(
        10, ge=2, description="A type with fewer diagnosis + validation units is dropped."
    )
    early_stop_patience: int = Field(2, ge=1, description="Epochs without a new best before training stops.")
    max_error_share: float = Field(
        0.10, ge=0, le=1, description="A rollout set with a larger share of errors stops the rule."
    )
    cooldown_steps: int = Field(
        1, ge=0, description="Steps in which a type is not evolved after its probation was rolled back."
    )
