"""A set of rollouts with the versions they were made with."""

from collections.abc import Sequence

from skillmake.agent.loop import Prediction
from skillmake.artifacts import Artifact
from skillmake.texts import Texts


class Rollout(Artifact):
    """Predictions sorted by question; `skills` and `prompts` are digests of versions."""

    skills: str
    prompts: str
    rows: tuple[Prediction, ...]

    @classmethod
    def of(cls, texts: Texts, rows: Sequence[Prediction]) -> "Rollout":
        ordered = tuple(sorted(rows, key=lambda row: row.question_id))
        return cls(skills=texts.skills.digest, prompts=texts.prompts.digest, rows=ordered)

    @property
    def summary(self) -> str:
        """Right questions of all, for a progress line."""
        right = sum(row.right is True for row in self.rows)
        errors = sum(row.right is None for row in self.rows)
        cut = sum(row.is_cut for row in self.rows)
        share = right / len(self.rows) if self.rows else 0.0
        return (
            f"{right} of {len(self.rows)} questions right ({share:.3f})"
            + (f", {errors} errors" if errors else "")
            + (f", {cut} answers cut off at max_tokens" if cut else "")
        )
