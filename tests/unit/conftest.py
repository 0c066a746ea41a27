"""What tests of several modules are given."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from skillmake.agent.loop import Prediction
from skillmake.config.endpoints import ModelConfig
from skillmake.config.models import Diagnose
from skillmake.judges.diagnosis import diagnose_by_judges
from skillmake.llm.cache import CallCache
from skillmake.llm.client import Client
from skillmake.llm.cost import Caps, Meter
from skillmake.llm.types import Provider
from skillmake.packs import Diagnosis
from skillmake.questions import Question
from skillmake.structured import Asker
from skillmake.teachers.templates import Templates
from skillmake.texts import Texts
from tests.judging import DIAGNOSE, TEXTS, DiagnosisOf
from tests.worlds import question


@pytest.fixture
def diagnosis_of(tmp_path: Path) -> Iterator[DiagnosisOf]:
    """Diagnosis of rows with a provider as the judge."""
    clients = []

    def diagnose(
        provider: Provider,
        rows: Sequence[Prediction],
        questions: Mapping[str, Question] | None = None,
        texts: Texts = TEXTS,
        **config: Any,
    ) -> Diagnosis:
        client = Client(
            provider, "judge", CallCache(tmp_path / "cache"), Meter(tmp_path, Caps(), "j"), slots=4
        )
        clients.append(client)
        model = ModelConfig(provider="rehearsal", model="judge", max_tokens=1000)
        known = questions or {row.question_id: question(row.question_id) for row in rows}
        return diagnose_by_judges(
            rows,
            known,
            texts,
            asker=Asker(client, model, Templates(DIAGNOSE)),
            config=Diagnose(method="judges", **config),
            seed=(1,),
        )

    yield diagnose
    for client in clients:
        client.close()
