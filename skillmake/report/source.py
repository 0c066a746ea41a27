"""What the report is made from: the tables of a run and its artefacts, and its logs where it may see them."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, TypeVar

from skillmake.artifacts import Model, json_lines, read_json, read_model
from skillmake.llm.cost import Price, Spent
from skillmake.metrics import RunFiles
from skillmake.prompts_update import PromptsReport
from skillmake.pulse import ROLES, SESSION
from skillmake.runs import artefact_files, read_text
from skillmake.scores import SoftScores
from skillmake.slow import BestReport
from skillmake.tables.calls import CallRow, call_rows
from skillmake.tables.catalog import ROWS, make_tables
from skillmake.tables.columns import Row
from skillmake.tables.epochs import DualMetricRow, EpochRow
from skillmake.tables.gates import GateEvidenceRow, StepReportRow
from skillmake.tables.record import RunRecord, read_record
from skillmake.workspace import STRUCTURE

RowModel = TypeVar("RowModel", bound=Row)


@dataclass(frozen=True)
class Stamp:
    """Where an artefact lies in its run, the rule that made it, and the artefacts it was made from."""

    place: str
    rule: str
    sources: tuple[str, ...]


@dataclass(frozen=True)
class Tables:
    """The tables that the page shows, in order of time."""

    steps: Sequence[StepReportRow]
    evidence: Sequence[GateEvidenceRow]
    scores: Sequence[DualMetricRow]
    epochs: Sequence[EpochRow]


@dataclass(frozen=True)
class RoleModel:
    """A model by its role."""

    name: str
    price: Price


@dataclass(frozen=True)
class Logs:
    """What the logs say of time and money. They are no artefacts: two equal runs have other ones."""

    calls: Sequence[CallRow]
    spent: Spent


@dataclass(frozen=True)
class Source:
    """A run as far as it is. `metrics`: None before its end; `best`: None before its first epoch's end;
    `models`: by role, as far as they are known; `logs`: None in the page that the run's rule makes."""

    run: str
    record: RunRecord
    files: RunFiles
    tables: Tables
    metrics: Mapping[str, Any] | None
    best: BestReport | None
    stamps: Sequence[Stamp]
    models: Mapping[str, RoleModel]
    logs: Logs | None = None


def read_source(
    run: str, paths: Iterable[Path], models: Mapping[str, RoleModel], logs: Logs | None = None
) -> Source:
    """Read a run from its artefacts and tables; DataError when it has no baseline yet."""
    by_place = {place: path for path in paths if (place := _place(run, path)) is not None}
    record = read_record(by_place.values())
    bests = [by_place[place] for place in sorted(by_place) if re.fullmatch(r"e\d\d/end/best\.json", place)]
    values = {place: read_json(path) for place, path in by_place.items() if path.suffix == ".json"}
    return Source(
        run=run,
        record=record,
        files=_files(record, by_place),
        tables=_tables(record, by_place),
        metrics=values.get("metrics.json"),
        best=read_model(bests[-1], BestReport) if bests else None,
        stamps=tuple(_stamps(run, values)),
        models=models,
        logs=logs,
    )


def read_folder(run_dir: Path) -> Source:
    """Read a run with its logs."""
    log_dir = run_dir / "log"
    logs = Logs(list(call_rows(log_dir)), Spent.read(log_dir))
    return read_source(run_dir.resolve().name, artefact_files(run_dir), _models_of_session(log_dir), logs)


def models_by_role(models: Mapping[str, Any]) -> dict[str, RoleModel]:
    """Models from the parameters of their roles, `model`, `price_in` and `price_out`."""
    return {
        role: RoleModel(each["model"], Price(each["price_in"], each["price_out"]))
        for role in ROLES
        if (each := models.get(role)) is not None
    }


def _models_of_session(log_dir: Path) -> dict[str, RoleModel]:
    """Models of the last start of Snakemake; none in a clone, which has no logs."""
    path = log_dir / SESSION
    return models_by_role(read_json(path).get("models", {})) if path.is_file() else {}


def _place(run: str, path: PurePath) -> str | None:
    """Path in the run's folder; None outside of it."""
    parts = path.parts
    at = max((k for k in range(1, len(parts)) if parts[k - 1 : k + 1] == ("runs", run)), default=None)
    return None if at is None else "/".join(parts[at + 1 :])


def _files(record: RunRecord, by_place: Mapping[str, Path]) -> RunFiles:
    return RunFiles(
        baseline=record.baseline,
        rollouts=[step.rollout for step in record.steps],
        gates=[gate for step in record.steps for gate in step.gates],
        validations=[end.validation for end in record.ends],
        test=record.test,
        diagnoses=[step.diagnosis for step in record.steps],
        momenta=[end.momentum for end in record.ends],
        prompts=list(_each(by_place, r"e\d\d/end/prompts\.json", PromptsReport)),
        softs=list(_each(by_place, r"(?:data|e\d\d/end)/soft\.json", SoftScores)),
        seconds=[end.second for end in record.ends],
        holdouts=[end.holdout for end in record.ends if end.holdout is not None],
    )


def _each(by_place: Mapping[str, Path], pattern: str, model: type[Model]) -> Iterator[Model]:
    for place in sorted(by_place):
        if re.fullmatch(pattern, place):
            yield read_model(by_place[place], model)


def _tables(record: RunRecord, by_place: Mapping[str, Path]) -> Tables:
    """As the rule `tables` has made them; of a run that is not finished, from what there is."""
    made = None if f"tables/{next(iter(ROWS))}.jsonl" in by_place else make_tables(record, None)

    def rows(name: str, model: type[RowModel]) -> list[RowModel]:
        if made is not None:
            return [row for row in made[name] if isinstance(row, model)]
        text = read_text(by_place[f"tables/{name}.jsonl"])
        return [model.model_validate_json(line) for line in json_lines(text)]

    return Tables(
        steps=rows("step_report", StepReportRow),
        evidence=rows("gate_evidence", GateEvidenceRow),
        scores=rows("dual_metric", DualMetricRow),
        epochs=rows("epoch_report", EpochRow),
    )


def _stamps(run: str, values: Mapping[str, Any]) -> Iterator[Stamp]:
    for place, value in sorted(values.items()):
        if isinstance(value, dict) and "made_by" in value and place != STRUCTURE:
            named = (_place(run, PurePath(name)) for name in value["derived_from"])
            yield Stamp(place, value["made_by"].get("rule", ""), tuple(name for name in named if name))
