import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from skillmake.errors import DataError
from skillmake.importer import import_questions
from skillmake.mapping import load_mapping, parse_mapping
from skillmake.questions import Question, dump_questions, load_questions
from skillmake.units import make_units

ROOT = Path(__file__).parents[2]
REAL = Path(os.environ.get("SKILLMAKE_REAL_DATA", ROOT / "../shared/data"))
MESSAGES = ROOT / "data/triage/messages"
CSV = "text,label\nWhere is it?,lost_card\n  It is gone ,lost_card\nHow much?,card_fee\nHello,greeting\n"
CSV_MAPPING = {"format": "csv", "id": "{stem}-{row}", "question": "text", "answer": "label"}
CARDS = {"from_label": {"lost_card": "card", "card_fee": "card"}}


def run(folder: Path, files: dict[str, Any], **mapping: Any) -> list[Question]:
    return say(folder, files, **mapping)[0]


def say(folder: Path, files: dict[str, Any], **mapping: Any) -> tuple[list[Question], list[str]]:
    """Import the files (all but TWINS.json) and what was said."""
    for name, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / name).write_text(text, encoding="utf-8")
    said: list[str] = []
    sources = [folder / name for name in files if name != "TWINS.json"]
    return import_questions(sources, parse_mapping(mapping, "map.yaml"), said.append), said


def problem(folder: Path, files: dict[str, Any], **mapping: Any) -> str:
    with pytest.raises(DataError) as caught:
        run(folder, files, **mapping)
    return caught.value.message.replace(f"{folder}/", "")


def wrong_mapping(**keys: Any) -> str:
    with pytest.raises(DataError) as caught:
        parse_mapping({**CSV_MAPPING, "task_type": {"fixed": "t"}, **keys}, "m")
    return caught.value.message


def test_csv_with_types_from_labels_and_renamed_answers(tmp_path: Path) -> None:
    found, said = say(
        tmp_path,
        {"train.csv": CSV},
        **{**CSV_MAPPING, "task_type": CARDS, "id": "{slug}-{stem}-{row:03d}"},
        answer_names={"replace": {"_": " "}},
        options={"labels_of_type": True},
    )
    assert [(question.question_id, question.question, question.answer) for question in found] == [
        ("card-train-001", "Where is it?", "lost card"),
        ("card-train-002", "It is gone", "lost card"),
        ("card-train-003", "How much?", "card fee"),
    ]
    assert {question.options for question in found} == {("card fee", "lost card")}
    assert said == ["skipped 1 rows of 1 labels without a task type"]


def test_json_with_rows_paths_context_and_meta(tmp_path: Path) -> None:
    document = {"note": "keep", "data": {"rows": [{"q": {"text": "1+1?"}, "a": 2, "film": "f1", "n": [1]}]}}
    found = run(
        tmp_path,
        {"sums.json": document},
        format="json",
        rows="data.rows",
        id="{stem}-{row}",
        question="q.text",
        answer="a",
        task_type="{stem}",
        context="Film {film}",
        video_id="film",
        meta={"n": "n"},
        document_meta={"note": "note"},
    )
    assert found == [
        Question(
            question_id="sums-1",
            task_type="sums",
            question="1+1?",
            answer="2",
            context="Film f1",
            video_id="f1",
            meta={"n": [1], "note": "keep"},
        )
    ]


def test_jsonl_with_options_by_letter(tmp_path: Path) -> None:
    lines = [
        {"no": 7, "ask": "?", "choices": ["x", "y"], "gold": "B", "kind": "k"},
        {"no": 8, "ask": "??", "choices": ["u", "v"], "gold": "A", "kind": "l"},
    ]
    found = run(
        tmp_path,
        {"q.jsonl": "\n".join(json.dumps(line) for line in lines) + "\n\n"},
        format="jsonl",
        id="q{no:>03}",
        question="ask",
        answer="gold",
        task_type="kind",
        options={"value": "choices", "keys": ["A", "B", "C"]},
    )
    assert [(question.question_id, question.answer, question.options) for question in found] == [
        ("q007", "y", ("x", "y")),
        ("q008", "u", ("u", "v")),
    ]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["b", "a", "c"], ("b", "a", "c")),
        ({"columns": ["o1", "o2"]}, ("a", "z")),
        ({"value": "all", "separator": "|"}, ("a", "y")),
        ({"per_type": {"t": ["a", "n"]}, "columns": ["o1", "o2"]}, ("a", "n")),
        ({"per_type": {"other": ["a", "n"]}}, None),
    ],
)
def test_options_of_a_csv(tmp_path: Path, options: Any, expected: tuple[str, ...] | None) -> None:
    found = run(
        tmp_path,
        {"q.csv": "text,label,o1,o2,all\n?,a,a,z,a| y\n"},
        **CSV_MAPPING,
        task_type={"fixed": "t"},
        options=options,
    )
    assert found[0].options == expected


def test_options_cut_out_of_the_question(tmp_path: Path) -> None:
    texts = [
        ("Which?\nOptions:\n(A) one two \n(B) three", "(B)"),
        ("True?\nOptions:\n- Yes\n- No ", "No"),
        ("Sort: b a", "a b"),
    ]
    found = run(
        tmp_path,
        {"t.json": [{"in": text, "out": answer} for text, answer in texts]},
        format="json",
        id="{row}",
        question="in",
        answer="out",
        task_type={"fixed": "t"},
        options={"block": r"\nOptions:\n", "pattern": r"^(?:(?P<key>\(.\))|-) (?P<text>.+)$"},
    )
    assert [(question.question, question.options, question.answer) for question in found] == [
        ("Which?", ("one two", "three"), "three"),
        ("True?", ("Yes", "No"), "No"),
        ("Sort: b a", None, "a b"),
    ]


def test_sampled_options_hold_the_answer_and_do_not_depend_on_other_rows(tmp_path: Path) -> None:
    rows = [f"m{number},l{number % 6}" for number in range(36)]
    mapping = {**CSV_MAPPING, "id": "text", "task_type": {"fixed": "t"}, "options": {"sample": 3}}
    found = run(tmp_path, {"q.csv": "\n".join(["text,label", *rows])}, **mapping)
    turned = run(tmp_path, {"q.csv": "\n".join(["text,label", *rows[::-1]])}, **mapping)
    other = run(tmp_path, {"q.csv": "\n".join(["text,label", *rows])}, **mapping, seed=2)
    assert all(len(question.options or ()) == 3 for question in found)
    assert {(question.options or ()).index(question.answer) for question in found} == {0, 1, 2}
    assert {option for question in found for option in question.options or ()} == {f"l{n}" for n in range(6)}
    assert found == turned
    assert [question.options for question in found] != [question.options for question in other]


def test_limit_is_by_label_and_seed_and_keeps_all_labels_as_options(tmp_path: Path) -> None:
    rows = "\n".join(["text,label", *[f"m{number:02d},{'ab'[number % 2]}" for number in range(20)], "m20,c"])
    mapping = {**CSV_MAPPING, "task_type": {"fixed": "t"}, "options": {"labels_of_type": True}}
    found = run(tmp_path, {"q.csv": rows}, **mapping, limit_per_label=3)
    other = run(tmp_path, {"q.csv": rows}, **mapping, limit_per_label=3, seed=2)
    assert Counter(question.answer for question in found) == {"a": 3, "b": 3, "c": 1}
    assert found != other
    assert {question.options for question in found} == {("a", "b", "c")}


def test_where_and_skip_leave_rows_out(tmp_path: Path) -> None:
    mapping = {**CSV_MAPPING, "task_type": {"fixed": "t"}, "skip": ["q-1", "q-9"]}
    found, said = say(tmp_path, {"q.csv": CSV}, **mapping, where="label != 'greeting'")
    assert [question.question_id for question in found] == ["q-2", "q-3"]
    assert said == [
        "left out 1 rows for which `where` is not true",
        "left out 1 questions listed under `skip`",
    ]
    text = problem(tmp_path, {"q.csv": CSV}, **mapping, where="label == 'x'")
    assert text == "where: label == 'x' is true for none of 4 rows"


def test_reversed_options_make_twins_of_the_types_that_are_named(tmp_path: Path) -> None:
    files = {"area.csv": "text,label\nhot,x\ncold,y\n", "route.csv": "text,label\nleft,x\nright,y\n"}
    mapping = {**CSV_MAPPING, "task_type": "{stem}", "options": {"labels_of_type": True}}
    found = run(tmp_path, files, **mapping, pairs={"permute_options": ["area"]})
    assert [(q.question_id, q.unit_id, q.options, q.answer) for q in found] == [
        ("area-1-a", "area-1", ("x", "y"), "x"),
        ("area-1-b", "area-1", ("y", "x"), "x"),
        ("area-2-a", "area-2", ("x", "y"), "y"),
        ("area-2-b", "area-2", ("y", "x"), "y"),
        ("route-1", "route-1", ("x", "y"), "x"),
        ("route-2", "route-2", ("x", "y"), "y"),
    ]
    assert len(run(tmp_path, files, **mapping, pairs={"permute_options": True})) == 8
    text = problem(tmp_path, files, **mapping, pairs={"permute_options": ["aera"]})
    assert text == "pairs.permute_options: no question is of type 'aera'. Did you mean `area`?"
    mapping.pop("options")
    assert "needs options, area-1 has none" in problem(
        tmp_path, files, **mapping, pairs={"permute_options": True}
    )


TABLE_MAPPING = {
    "format": "json",
    "id": "{stem}-{row}",
    "question": "q",
    "answer": "a",
    "task_type": "{stem}",
    "pairs": {"table": "TWINS.json"},
}


def twins(*pairs: tuple[str, str, Any, Any]) -> list[dict[str, Any]]:
    return [{"pair": name, "task_type": source, "a": a, "b": b} for name, source, a, b in pairs]


def test_pair_table_counts_rows_from_zero_and_the_first_pair_wins(tmp_path: Path) -> None:
    rows = [{"q": f"?{number}", "a": "x"} for number in range(5)]
    table = twins(("p", "s", 0, 2), ("late", "s", 2, 3), ("gone", "s", 3, 4), ("far", "other", 0, 1))
    found, said = say(tmp_path, {"s.json": rows, "TWINS.json": table}, **TABLE_MAPPING, where="q != '?4'")
    assert {question.question_id: question.unit_id for question in found} == {
        "s-1": "p",
        "s-2": "s-2",
        "s-3": "p",
        "s-4": "s-4",
    }
    assert said[1:] == [
        "left out 1 of 4 pairs of TWINS.json, with a question of an earlier pair",
        "left out 1 of 4 pairs of TWINS.json, with a row that is left out",
        "left out 1 of 4 pairs of TWINS.json, with a source that is not given",
    ]


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (("p", "s", 0, 2), "TWINS.json: pair p: s has rows 0 to 1 only"),
        (("p", "s", 1, 1), "TWINS.json: row 1: a question cannot be its own twin"),
        (("p", "s", "x", 1), "TWINS.json: row 1: invalid literal"),
    ],
)
def test_a_wrong_pair_table_is_named(tmp_path: Path, entry: tuple[str, str, Any, Any], expected: str) -> None:
    files = {"s.json": [{"q": "?", "a": "x"}, {"q": "!", "a": "x"}], "TWINS.json": twins(entry)}
    assert problem(tmp_path, files, **TABLE_MAPPING).startswith(expected)


T = {"fixed": "t"}


@pytest.mark.parametrize(
    ("content", "keys", "expected"),
    [
        (CSV, {"question": "txt"}, "q.csv: row 1 (and 3 more rows): no column `txt`. Did you mean `text`?"),
        (CSV, {"question": "txt"}, "There are: text, label"),
        ("text,label\na,x\n  ,y\n", {}, "q.csv: row 2: `text` is empty"),
        ("text,label\na,\n", {}, "q.csv: row 1: `label` is empty"),
        ("text,label\na,b,c\n", {}, "q.csv: not valid csv: row 1 has 3 cells, the header has 2"),
        ("text,text\na,b\n", {}, "has an empty or a repeated name"),
        ("text,label\n", {}, "q.csv: holds no row"),
        ("", {}, "q.csv: holds no row"),
        ('text,label\n"a,b\n', {}, "q.csv: not valid csv: unexpected end of data"),
        (CSV, {"id": "x"}, "no column `x`"),
        (CSV, {"id": "same"}, "no column `same`"),
        (CSV, {"id": "{stem}"}, "import: q.csv row 2: question_id q is already used on q.csv row 1"),
        (CSV, {"id": "text"}, "`question_id`: an id must not contain white space"),
        (CSV, {"id": "{text:05d}"}, "template '{text:05d}': `text` is 'Where is it?': Unknown format code"),
        (CSV, {"options": ["lost_card", "card_fee"]}, 'row 4: answer "greeting" is not among the options'),
        (
            CSV,
            {"task_type": {"from_label": {"lost_card": "c", "card_fe": "c"}, "strict": True}},
            "row 3: label 'card_fee' has no type in task_type.from_label. Did you mean `card_fe`?",
        ),
        ("[]", {"format": "json"}, "q.csv: holds no row"),
        ("{}", {"format": "json"}, "q.csv: the source is not a list of objects"),
        ("{}", {"format": "json", "rows": "a.b"}, "q.csv: `rows: a.b` is not a list of objects"),
        ("{}\n{", {"format": "jsonl"}, "q.csv: not valid jsonl: line 2: Expecting property name"),
        ('[{"text": ["a"], "label": "b"}]', {"format": "json"}, "`text` is a list, expected a text"),
        ('[{"text": null, "label": "b"}]', {"format": "json"}, "`text` is empty"),
    ],
)
def test_a_source_that_does_not_fit_is_explained(
    tmp_path: Path, content: str, keys: dict[str, Any], expected: str
) -> None:
    assert expected in problem(tmp_path, {"q.csv": content}, **{**CSV_MAPPING, "task_type": T, **keys})


def test_a_label_of_the_table_without_a_row_is_said(tmp_path: Path) -> None:
    table = {"from_label": {"lost_crd": "card", "card_fee": "card"}}
    _, said = say(tmp_path, {"q.csv": CSV}, **CSV_MAPPING, task_type=table)
    assert said[1] == "task_type.from_label: no row has the label 'lost_crd'. Did you mean `lost_card`?"


def test_unreadable_sources(tmp_path: Path) -> None:
    mapping = parse_mapping({**CSV_MAPPING, "task_type": T}, "m")
    (tmp_path / "latin.csv").write_bytes("text,label\né,x\n".encode("latin-1"))
    for name, expected in (
        ("none.csv", "cannot be read"),
        (".", "cannot be read"),
        ("latin.csv", "not UTF-8"),
    ):
        with pytest.raises(DataError, match=expected):
            import_questions([tmp_path / name], mapping)
    with pytest.raises(DataError, match="no source"):
        import_questions([], mapping)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (
            {"anser": "a"},
            "m: unknown key `anser`. Did you mean `answer`? Allowed here: format, delimiter, rows",
        ),
        ({"options": {"smaple": 2}}, "m: unknown key `options.smaple`. Did you mean `sample`?"),
        ({"format": "xml"}, "m: format: Input should be 'csv', 'json' or 'jsonl', got \"xml\""),
        ({"limit_per_label": 0}, "m: limit_per_label: Input should be greater than or equal to 1, got 0"),
        (
            {"options": [True, False]},
            "m: options.fixed.0: Input should be a valid string, got true; quote it",
        ),
        ({"options": {"sample": 2, "labels_of_type": True}}, "has sample and labels_of_type"),
        ({"options": {"pattern": "("}}, "m: options.pattern: not a regular expression"),
        ({"options": {"pattern": "(.)"}}, "`pattern` needs a group (?P<text>…)"),
        ({"options": {"fixed": ["a", "b"], "block": "x"}}, "`block` is for `pattern`"),
        ({"task_type": {}}, "m: task_type: needs exactly one of value, fixed, from_label, has none"),
        ({"task_type": {"fixed": "t", "strict": True}}, "`strict` is for `from_label`"),
        ({"where": "a =="}, "m: where: not a JMESPath"),
        ({"id": "{a.b}"}, "template '{a.b}': a field is {column} or {column:format}"),
        ({"id": "{"}, "m: "),
        ({"rows": "a"}, "`rows` and `document_meta` are for format json"),
        ({"limit_per_label": 3, "pairs": {"table": "x"}}, "would tear the pairs"),
    ],
)
def test_a_wrong_mapping_is_explained(keys: dict[str, Any], expected: str) -> None:
    assert expected in wrong_mapping(**keys)


def test_a_missing_key_of_the_mapping_is_named() -> None:
    with pytest.raises(DataError, match="m: missing key `question`"):
        parse_mapping({"format": "csv", "id": "i", "answer": "a", "task_type": "t"}, "m")


@pytest.mark.parametrize(("text", "expected"), [("a: [", "not valid YAML"), ("- a", "expected `key: value`")])
def test_a_mapping_file_that_is_no_mapping(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(text)
    with pytest.raises(DataError, match=expected):
        load_mapping(path)
    with pytest.raises(DataError, match="no such file"):
        load_mapping(tmp_path / "none.yaml")


@pytest.mark.parametrize("path", sorted((ROOT / "configs/import").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_shipped_mapping_loads(path: Path) -> None:
    assert load_mapping(path).id


def need(path: Path) -> None:
    if not path.exists():
        pytest.skip(f"{path} is absent: set SKILLMAKE_REAL_DATA to the folder of the real data")


def test_banking77(tmp_path: Path) -> None:
    need(REAL / "banking77")
    sources = [REAL / "banking77" / name for name in ("train.csv", "test.csv")]
    found = import_questions(sources, load_mapping(ROOT / "configs/import/banking77.yaml"))
    counts = Counter((question.task_type, question.answer) for question in found)
    assert set(counts.values()) == {30}
    assert Counter(task_type for task_type, _ in counts) == {
        "card payment": 4,
        "top-up": 4,
        "transfer": 4,
        "cash": 4,
    }
    assert ("cash", "wrong amount of cash received") in counts
    assert all(len(question.options or ()) == 4 for question in found)
    assert not any("_" in question.answer for question in found)
    dump_questions(tmp_path / "q.jsonl", found)
    assert load_questions(tmp_path / "q.jsonl") == found


def test_bbh() -> None:
    need(REAL / "bbh")
    sources = sorted(path for path in (REAL / "bbh").glob("*.json") if path.name != "TWINS.json")
    found = import_questions(sources, load_mapping(ROOT / "configs/import/bbh.yaml"))
    pairs = Counter(unit.task_type for unit in make_units(found) if len(unit.questions) == 2)
    table = json.loads((REAL / "bbh/TWINS.json").read_text())
    stems = {path.stem for path in sources}
    assert pairs == Counter(entry["task_type"] for entry in table if entry["task_type"] in stems)
    entry = table[0]
    examples = json.loads((REAL / f"bbh/{entry['task_type']}.json").read_text())["examples"]
    members = [question for question in found if question.unit_id == entry["pair"]]
    starts = sorted(examples[entry[side]]["input"].split("\nOptions:")[0] for side in "ab")
    assert sorted(member.question for member in members) == starts
    by_type = {question.task_type: question for question in found}
    assert by_type["word_sorting"].options is None
    assert by_type["web_of_lies"].options == ("No", "Yes")
    assert by_type["navigate"].options == ("Yes", "No")
    assert by_type["formal_fallacies"].options == ("valid", "invalid")
    assert not any("Options:" in question.question for question in found)
    assert all("canary GUID" in str(question.meta["canary"]) for question in found)


def test_triage() -> None:
    if not MESSAGES.exists():
        pytest.skip(f"{MESSAGES} is absent")
    found = import_questions(
        sorted(MESSAGES.glob("*.csv")), load_mapping(ROOT / "configs/import/triage.yaml")
    )
    units = make_units(found)
    assert {unit.task_type for unit in units} == {"billing", "access", "bug", "intent", "routing", "area"}
    assert all((len(unit.questions) == 2) == (unit.task_type == "area") for unit in units)
    assert all(len(question.options or ()) == 4 for question in found)
