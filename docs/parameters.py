"""What each parameter means, and which rules see it, asked of Snakemake: `python docs/parameters.py`."""

import json
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from snakemake.api import SnakemakeApi
from snakemake.settings.types import ConfigSettings, OutputSettings, Quietness, ResourceSettings

from skillmake.config.load import describe, hashed_part, overlay
from skillmake.config.models import Config
from skillmake.config.modes import USED_BY
from skillmake.structure import OF_ENVIRONMENT, OF_WORLD, STRUCTURAL

ROLES = {role: {"provider": "rehearsal"} for role in ("student", "teacher", "judge")}
LLM, JUDGES = (
    {"evolve": {"teacher": "llm"}, "models": ROLES},
    {"diagnose": {"method": "judges"}, "models": ROLES},
)
# What changes which parameters a rule sees, each by itself; the first is the default
VARIANTS: dict[str, dict[str, Any]] = {
    "": {},
    "world": {"data": {"questions": "rehearsal"}, "models": ROLES},
    "llm": LLM,
    "judges": JUDGES,
    "tree": {"agent": {"environment": "tree"}, **LLM, **JUDGES},
    "holdout": {"slow": {"run_holdout_eval": True}},
}
# Rules that are only then part of the DAG
ONLY = {"soft_seed": "judges", "soft_eval": "judges", "holdout": "holdout"}
# Rules that see more than their own switch only then
MORE = {"momentum": "llm", "diagnose_step": "judges", "diagnose_rollouts": "judges"}
# Parameters that act on the DAG itself
OTHERS = {
    "run": "names the folder of the run",
    "slow.run_holdout_eval": "adds `holdout`; `epoch_report` and `metrics` read what it makes",
    "slow.soft_validation": "`val_eval2`; with judges it adds `soft_seed` and `soft_eval`",
    "data.seed": "stands for `questions`, `skills` and `prompts`; `baseline` reads its rollouts",
}
HEAD = """\
# Every parameter

Each section of a parameter file has two tables: what its parameters mean, and what runs again when one is
changed. `skillmake params` lists the first in the terminal, `skillmake params FILE …` checks files, and
`configs/schema.json` is for editors. Generated: `python docs/parameters.py > docs/parameters.md`.

## What a changed parameter re-runs

- **decision**: change it whenever you like. The rules in its row run again, and what follows from their
  files. A job that follows and finds its inputs with the same content makes no call: its result is looked up.
- **structural**: what the first rollouts of a run follow from. Changed under a run that has started, it is
  refused with the list of the differences; so is a question file or a seed text with other content. Name
  another run, or `skillmake archive RUN` first.
- **no result**: changes how calls are made and re-runs nothing; a price makes the report again.
- **target**: read by the targets in its row and by no training, see [modes](modes.md).

A rule in brackets sees the parameter only then: `world` where a model is `rehearsal`, `llm` with
`evolve.teacher: llm`, `judges` with `diagnose.method: judges`, `tree` with an `agent.environment` that looks
things up, `holdout` with `slow.run_holdout_eval: true`.
"""
MEANING = "| parameter | default | allowed | meaning |\n| --- | --- | --- | --- |\n"
EFFECT = "| changed | kind | runs again |\n| --- | --- | --- |\n"


def seen_by() -> dict[str, dict[str, str]]:
    """Rules by parameter, each with the first variant in which it sees the parameter."""
    out: dict[str, dict[str, str]] = {}
    for variant, config in VARIANTS.items():
        for rule, seen in rules(config):
            for path in leaves(seen):
                only = ONLY.get(rule) or (variant and MORE.get(rule, variant))
                out.setdefault(path, {}).setdefault(rule, only)
    return out


def rules(config: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and visible parameters of every rule in order, with `config` on top of the defaults."""
    whole = overlay(Config().model_dump(mode="json"), config)
    quiet = OutputSettings(quiet={Quietness.ALL})
    with SnakemakeApi(quiet) as api:
        workflow = api.workflow(
            ResourceSettings(),
            config_settings=ConfigSettings(config=whole),
            snakefile=Path("Snakefile"),
        )._workflow
        for rule in workflow.rules:
            if "cfg" in rule.params.keys():  # noqa: SIM118 - a Namedlist, not a dict
                yield rule.name, json.loads(rule.params.cfg)


def leaves(value: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Dotted paths of all values."""
    for name, part in value.items():
        if isinstance(part, Mapping):
            yield from leaves(part, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def kind(path: str, hashed: set[str]) -> str:
    if path.startswith("modes."):
        return "target"
    structural = (*STRUCTURAL, *OF_ENVIRONMENT, *OF_WORLD)
    if path not in hashed:
        return "no result"
    if any(path == key or path.startswith(f"{key}.") for key in structural):
        return "structural"
    return "decision"


def effect(path: str, seen: Mapping[str, Mapping[str, str]]) -> str:
    """The rules that see the parameter, or what else it does."""
    if path in OTHERS:
        return OTHERS[path]
    if path.startswith("modes.") and path not in seen:
        key = path.removeprefix("modes.")
        return ", ".join(f"`{mode}`" for mode, keys in USED_BY.items() if key in keys)
    found = seen.get(path, {})
    return ", ".join(f"`{rule}`" + (f" ({variant})" if variant else "") for rule, variant in found.items())


def document() -> str:
    """The page: two tables per section; in the second, parameters with one effect share a row."""
    seen, hashed = seen_by(), set(leaves(hashed_part(Config())))
    effects = {p.path: (kind(p.path, hashed), effect(p.path, seen)) for p in describe()}
    unseen = [path for path, (what, rules_) in effects.items() if what != "no result" and not rules_]
    if unseen:
        raise SystemExit(f"no rule sees {', '.join(unseen)}")
    out = [HEAD]
    for section, members in groupby(describe(), key=lambda p: p.path.rpartition(".")[0]):
        parameters = list(members)
        out.append(f"\n## {section or 'top level'}\n\n{MEANING}")
        for p in parameters:
            default = json.dumps(p.default)
            about = p.about.replace("<", "\\<")  # else Markdown takes <run> for HTML
            out.append(f"| `{leaf(p.path)}` | `{default}` | {p.allowed} | {about} |\n")
        out.append(f"\n{EFFECT}")
        for (what, rules_), same in groupby(parameters, key=lambda p: effects[p.path]):
            names = ", ".join(f"`{leaf(p.path)}`" for p in same)
            out.append(f"| {names} | {what} | {rules_ or 'none'} |\n")
    return "".join(out)


def leaf(path: str) -> str:
    return path.rpartition(".")[2]


if __name__ == "__main__":
    print(document(), end="")
