import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from skillmake.questions import Question
from tests.importing import CSV, CSV_MAPPING, problem, run, say

CARDS = {"from_label": {"lost_card": "card", "card_fee": "card"}}


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
