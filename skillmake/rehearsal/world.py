"""A world whose truth is known: what each unit needs, and so how good any skill text really is (DESIGN §3).

Every value here is a pure function of the configuration. Sentences of all kinds (useful, harmful, useless)
share one vocabulary and one shape, so nothing but their effect on answers tells them apart.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal

from skillmake.artifacts import Artifact, digest
from skillmake.llm.types import Message
from skillmake.rehearsal import judge, students, teacher
from skillmake.rehearsal.config import WorldConfig
from skillmake.rehearsal.students import SYSTEM, chance, pick, shuffled, words

WORLD_FORMAT = 1  # raise it when the same configuration makes another world: cached answers must not survive
HARMFUL_POOL, USELESS_POOL = 60, 300

SentenceKind = Literal["useful", "harmful", "useless"]

DOMAINS = words(
    "parcel desk:parcel, plant clinic:plant, bicycle shop:bicycle, library returns:book, key service:key, "
    "lost property:suitcase, seed bank:sample, piano workshop:piano, print room:poster, map archive:map, "
    "lens laboratory:lens, boat yard:boat, clock repair:clock, wine cellar:bottle, film vault:reel"
)
CONDITIONS = words(
    "fragile, late, heavy, unlabelled, damp, oversized, returned, prepaid, foreign, sealed, urgent, "
    "recalled, insured, dusty, second-hand, custom-made, duplicated, incomplete, disputed, expired, "
    "borrowed, donated, refurbished, imported, perishable, numbered, anonymous, reserved, overdue, repaired"
)
ADJECTIVES = words("padded, green, narrow, top, locked, spare, quiet, printed, tin, heated, shared, plain")
THINGS = words("crate, shelf, form, counter, queue, folder, cart, tray, label, cabinet, drawer")
PEOPLE = words("Adler, Bianchi, Castro, Dahl, Eriksen, Fofana, Gupta, Haas, Ito, Jansen, Lopez, Novak")
TOWNS = words("Aarhus, Bergen, Cork, Delft, Essen, Faro, Ghent, Haifa, Izmir, Jena, Lille, Malmo, Oulu")
DAYS = words("Monday, Tuesday, Wednesday, Thursday, Friday, Saturday")
PLACES = words("north hall, old mill, river shed, clock tower, east wing, garden room, basement, courtyard")
FIRST_WORDING = (
    "[case {code}] {person} from {town} hands in a {noun} on {day}. It is {traits}. Where does it go next?",
    "{person} asks about a {noun} left in {town} on {day} [case {code}]. It is {traits}. Where should it be?",
)
SECOND_WORDING = (
    "Where do we keep the {noun} of {person} [case {code}]? It came from {town} on {day} and was {traits}.",
    "[case {code}] Find the place for this {noun}: {traits}, received on {day} from {person} in {town}.",
)
SENTENCE = re.compile(r"(?=(When the [^.]*\.))")


class TrueAccuracy(Artifact):
    """Share of units right without churn and noise, a pair counting as one unit."""

    types: dict[str, float]
    overall: float


@dataclass(frozen=True)
class TaskType:
    """A task type with its sentences of each kind."""

    name: str
    noun: str
    sentences: Mapping[SentenceKind, Sequence[str]]


@dataclass(frozen=True)
class Unit:
    """What is true of one unit. `needs` is None where no skill text helps."""

    unit_id: str
    task_type: str
    code: str
    needs: frozenset[str] | None
    options: tuple[str, ...]
    answer: str
    questions: tuple[dict[str, Any], ...]


class World:
    """The rehearsal world of a configuration, and the three actors that answer by its truth."""

    def __init__(self, config: WorldConfig) -> None:
        self.config = config
        self.digest = digest({"format": WORLD_FORMAT, "config": config})

    @cached_property
    def types(self) -> tuple[TaskType, ...]:
        return tuple(_task_type(self.config, index) for index in range(self.config.types))

    @cached_property
    def owners(self) -> dict[str, TaskType]:
        """Whose texts the sentences belong into: the task types by name, and the system prompt."""
        sentences = _sentences(self.config, -1, "case", self.config.system_rules)
        system = [TaskType(SYSTEM, "case", sentences)] if self.config.system_rules else []
        return {owner.name: owner for owner in [*self.types, *system]}

    @cached_property
    def units(self) -> dict[str, Unit]:
        """Unit by case code, in order of unit id within each type."""
        taken: set[str] = set()
        system = self.owners.get(SYSTEM)
        return {
            unit.code: unit
            for task_type in self.types
            for unit in _units_of_type(self.config, self.digest, task_type, system, taken)
        }

    @cached_property
    def sentences(self) -> dict[str, tuple[SentenceKind, str]]:
        """Kind and owner of every sentence of the world."""
        return {
            text: (kind, owner.name)
            for owner in self.owners.values()
            for kind, texts in owner.sentences.items()
            for text in texts
        }

    def questions(self) -> list[dict[str, Any]]:
        """All questions in the JSONL question format (SPEC §2); `answer` is the text of an option."""
        return deepcopy([question for unit in self.units.values() for question in unit.questions])

    def found(self, text: str, kind: SentenceKind, owner: str | None = None) -> frozenset[str]:
        """Sentences of a kind that `text` contains word for word, of one owner or of any."""
        return frozenset(
            sentence
            for sentence in SENTENCE.findall(text)
            if (entry := self.sentences.get(sentence)) and entry[0] == kind and owner in (None, entry[1])
        )

    def pool(self, owner: str, kind: SentenceKind, known: str) -> list[str]:
        """Sentences of an owner and kind that `known` does not contain, in a fixed order."""
        return [sentence for sentence in self.owners[owner].sentences[kind] if sentence not in known]

    def useful_count(self, text: str, task_type: str | None = None) -> int:
        return len(self.found(text, "useful", task_type))

    def harmful_count(self, text: str, task_type: str | None = None) -> int:
        return len(self.found(text, "harmful", task_type))

    def useless_count(self, text: str, task_type: str | None = None) -> int:
        return len(self.found(text, "useless", task_type))

    def harming(self, text: str, unit: Unit) -> frozenset[str]:
        """Sentences in `text` that turn this unit wrong."""
        harmful = self.found(text, "harmful", unit.task_type) | self.found(text, "harmful", SYSTEM)
        return frozenset(sentence for sentence in harmful if self.harms(sentence, unit))

    def lacking(self, text: str, unit: Unit) -> frozenset[str]:
        """Rules that this unit needs and `text` does not hold; none where no text helps."""
        return (unit.needs or frozenset()) - self.found(text, "useful")

    def harms(self, sentence: str, unit: Unit) -> bool:
        """Whether a harmful sentence of the unit's type or of the system prompt turns this unit wrong."""
        return chance("harm", self.config.seed, sentence, unit.unit_id) < self.config.harm_rate

    def is_right(self, unit: Unit, text: str, taught: Iterable[str] = ()) -> bool:
        """Truth without churn and noise, for a skill text and the rules that worked examples taught."""
        known = self.lacking(text, unit) <= set(taught)
        return unit.needs is not None and known and not self.harming(text, unit)

    def true_accuracy(
        self,
        skills: Mapping[str, str],
        examples: Mapping[str, Sequence[Message]] | None = None,
        system: str = "",
    ) -> TrueAccuracy:
        """True accuracy of skill texts by task type; a type without a text counts as an empty one.

        Worked examples count where they stand in the text and where `examples` gives them as chat turns.
        `system`: the system prompt, which is read before each skill.
        """
        shares = {}
        for name in [task_type.name for task_type in self.types]:
            text, turns = f"{system}\n{skills.get(name, '')}", (examples or {}).get(name, ())
            taught = students.taught_by_text(self, text) | students.taught_by_turns(self, turns)
            right = [
                self.is_right(unit, text, taught) for unit in self.units.values() if unit.task_type == name
            ]
            shares[name] = sum(right) / len(right)
        return TrueAccuracy(types=shares, overall=sum(shares.values()) / len(shares))

    def answer(self, messages: Sequence[Message], temperature: float = 0.0, replicate: int = 0) -> str:
        """The option the student picks, `""` where the messages ask about no case of this world."""
        return students.answer(self, messages, temperature, replicate)

    def teach(self, messages: Sequence[Message], schema: Mapping[str, Any] | None = None) -> str:
        """The teacher's edits as JSON `{"edits": [...]}`, or a defective answer (`teacher_defect`).

        With a schema without `edits` its `skill` is a whole text and its other texts are one sentence.
        """
        return teacher.teach(self, messages, schema)[0]

    def judge(self, messages: Sequence[Message], schema: Mapping[str, Any] | None = None) -> str:
        """A JSON answer of the schema's shape by the truth, inverted by `judge_error`."""
        return judge.judge(self, messages, schema)


@cache
def world_of(config: WorldConfig) -> World:
    """The one world of a configuration in this process: its units are made once."""
    return World(config)


def _task_type(config: WorldConfig, index: int) -> TaskType:
    name, noun = DOMAINS[index % len(DOMAINS)].split(":")
    if round_ := index // len(DOMAINS):
        name, noun = f"{name} {round_ + 1}", f"{noun} of series {round_ + 1}"
    return TaskType(name, noun, _sentences(config, index, noun, config.rules_per_type))


def _sentences(config: WorldConfig, index: int, noun: str, rules: int) -> dict[SentenceKind, Sequence[str]]:
    conditions = shuffled(CONDITIONS, "conditions", config.seed, index)
    choices = shuffled([f"{a} {t}" for a in ADJECTIVES for t in THINGS], "choices", config.seed, index)
    # Counted up together, 30 conditions and 12 x 11 choices repeat only after lcm(30, 132) = 660 sentences
    texts = [
        f"When the {noun} is {conditions[i % len(conditions)]}, choose the {choices[i % len(choices)]}."
        for i in range(rules + HARMFUL_POOL + USELESS_POOL)
    ]
    harmful, useless = texts[rules:-USELESS_POOL], texts[-USELESS_POOL:]
    return {
        "useful": texts[:rules],
        "harmful": harmful[: config.bad_ideas],
        "useless": useless[: config.bad_ideas],
    }


def _units_of_type(
    config: WorldConfig, world: str, task_type: TaskType, system: TaskType | None, taken: set[str]
) -> Iterator[Unit]:
    """Units of a type in order of id, with case codes that are not `taken`; adds its own to that set."""
    ids = [f"{task_type.name.replace(' ', '-')}-{i:04d}" for i in range(config.units_per_type)]
    # Shares are met exactly and not drawn, so that a small world too has the accuracy it was configured for
    by_need = shuffled(ids, "need", config.seed)
    free = set(by_need[: round(config.base_accuracy * len(ids))])
    hopeless = set(by_need[round((config.base_accuracy + config.skill_gain) * len(ids)) :])
    in_need = [unit_id for unit_id in by_need if unit_id not in free | hopeless]
    of_system = set(in_need[: round(config.system_share * len(in_need))]) if system else set()
    pairs = set(shuffled(ids, "pairs", config.seed)[: round(config.pair_share * len(ids))])
    position = 0
    for unit_id in ids:
        count = 1 + int(chance("rules", config.seed, unit_id) * config.rules_per_unit_max)
        count = 0 if unit_id in free else count
        owner, count = (system, 1) if system and unit_id in of_system else (task_type, count)
        needs = shuffled(owner.sentences["useful"], "needs", config.seed, unit_id)[:count]
        code = next(c for salt in range(10**6) if (c := _code(config.seed, unit_id, salt)) not in taken)
        taken.add(code)
        case = {"code": code, "noun": task_type.noun, "traits": _traits(needs, config.seed, unit_id)}
        asked = _questions(config, unit_id, case, unit_id in pairs, position)
        position += len(asked)
        fixed = {"task_type": task_type.name, "meta": {"source": "rehearsal", "world": world}}
        yield Unit(
            unit_id=unit_id,
            task_type=task_type.name,
            code=code,
            needs=None if unit_id in hopeless else frozenset(needs),
            options=tuple(asked[0]["options"]),
            answer=asked[0]["answer"],
            questions=tuple({**question, **fixed} for question in asked),
        )


def _code(seed: int, unit_id: str, salt: int) -> str:
    number = int(chance("code", seed, unit_id, salt) * 31**5)
    return "".join("abcdefghjkmnpqrstuvwxyz23456789"[number // 31**i % 31] for i in range(5))


def _traits(needs: Sequence[str], seed: int, unit_id: str) -> str:
    named = [re.sub(r".* is (.*),.*", r"\1", sentence) for sentence in needs]
    return " and ".join(named or [pick(CONDITIONS, "trait", seed, unit_id)])


def _questions(
    config: WorldConfig, unit_id: str, case: Mapping[str, str], is_pair: bool, position: int
) -> list[dict[str, Any]]:
    key = (config.seed, unit_id)
    vocabulary = {"person": PEOPLE, "town": TOWNS, "day": DAYS}
    about = {what: pick(items, what, *key) for what, items in vocabulary.items()}
    places = shuffled(PLACES, "places", *key)[: config.options]
    answer, *others = [f"lane {10 + int(chance('lane', *key, p) * 90)} in the {p}" for p in places]
    questions = []
    for member, wording in enumerate((FIRST_WORDING, SECOND_WORDING) if is_pair else (FIRST_WORDING,)):
        # Counting positions up balances them, and gives the two questions of a pair different orders
        options = shuffled(others, "order", *key, member)
        options.insert((position + member) % config.options, answer)
        questions.append(
            {
                "question_id": f"{unit_id}-{'ab'[member]}" if is_pair else unit_id,
                "question": pick(wording, "wording", *key, member).format(**case, **about),
                "options": options,
                "answer": answer,
                "unit_id": unit_id,
            }
        )
    return questions
