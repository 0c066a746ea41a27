"""What the importer says of sources and mappings that do not fit."""

from pathlib import Path
from typing import Any

import pytest

from skillmake.errors import DataError
from skillmake.importer import import_questions
from skillmake.mapping import load_mapping, parse_mapping
from tests.importing import CSV, CSV_MAPPING, problem, say


def wrong_mapping(**keys: Any) -> str:
    with pytest.raises(DataError) as caught:
        parse_mapping({**CSV_MAPPING, "task_type": {"fixed": "t"}, **keys}, "m")
    return caught.value.message


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
