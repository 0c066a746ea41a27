"""Captioned videos and questions about their clips become trees and questions."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from skillmake.agent.environments.files import looked_up_files
from skillmake.cli import app
from skillmake.errors import DataError
from skillmake.import_tree import clip_questions, make_trees, read_captions, read_clip_pairs
from skillmake.questions import load_questions
from skillmake.tree import Forest
from skillmake.units import make_units

REAL = Path(os.environ.get("SKILLMAKE_REAL_DATA", "../shared/data")) / "nextqa_tree"
CSV = """video,frame_count,question,answer,qid,type,a0,a1,a2,a3,a4
v,300,what does the dog do,1,4,CW,sleeps,runs,eats,barks,sits
v,300,where is the dog,0,5,DL,at a lake,in a house,on a boat,in a car,on a bed
"""


def pair(clip: str = "1_v_30_90.mp4", other: str | None = None) -> dict[str, Any]:
    yes = {"video": clip, "question": "Is there a dog in the video?", "answer": "yes"}
    no = {"video": other or clip, "question": "Is there a cat in the video?", "answer": "no"}
    return {"basic": yes, "hallucination": no, "type": "object"}


def write(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


CAPTIONS = {"v": {str(k): f"A dog at second {k}." for k in range(10)}}


def test_the_command_makes_trees_and_questions(tmp_path: Path) -> None:
    (tmp_path / "questions.csv").write_text(CSV)
    arguments = [
        "import-tree",
        str(write(tmp_path / "captions.json", CAPTIONS)),
        *("--questions", str(tmp_path / "questions.csv")),
        *("--twins", str(write(tmp_path / "twins.json", [pair()]))),
        *("--out", str(tmp_path / "out")),
        *("--window-s", "5"),
    ]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "2 questions, 1 pairs, 1 videos" in result.output
    found = {question.question_id: question for question in load_questions(tmp_path / "out/questions.jsonl")}
    assert sorted(found) == ["v-clip000-a", "v-clip000-b", "v-q4", "v-q5"]
    assert (found["v-q4"].answer, found["v-q4"].task_type, found["v-q4"].video_id) == ("runs", "CW", "v")
    twin = found["v-clip000-b"]
    assert (twin.unit_id, twin.answer, twin.task_type) == ("v-clip000", "no", "twin object")
    # 300 frames last 10 s, so frames 30 to 90 are the seconds 1 to 3
    assert twin.scope == {"span": [1.0, 3.0]}
    tree = Forest(tmp_path / "out/videos").tree("v")
    assert [(node.node_id, node.span) for node in tree.nodes] == [
        ("0", (0, 10)),
        ("0.0", (0, 5)),
        ("0.1", (5, 10)),
    ]


@pytest.mark.parametrize(
    ("pairs", "frames", "problem"),
    [
        ([pair("v.mp4")], {"v": 300}, "pair 0: clips v.mp4"),
        ([pair(), pair("1_v_0_9.mp4", "1_v_0_8.mp4")], {"v": 300}, "pair 1: clips 1_v_0_8.mp4, 1_v_0_9.mp4"),
        ([pair("1_w_0_9.mp4")], {"v": 300}, "pair 0: video w has no captions"),
        ([pair()], {}, "pair 0: video v has no frame_count"),
        ([pair("1_v_30_301.mp4")], {"v": 300}, "pair 0: frames 30-301 are not within the 300 of v"),
        ([pair("1_v_30_30.mp4")], {"v": 300}, "pair 0: frames 30-30"),
    ],
)
def test_pairs_that_do_not_fit(tmp_path: Path, pairs: Any, frames: dict[str, int], problem: str) -> None:
    trees = make_trees(read_captions(write(tmp_path / "c.json", CAPTIONS)), 5, 2)
    with pytest.raises(DataError, match=problem):
        clip_questions(read_clip_pairs(write(tmp_path / "t.json", pairs)), trees, frames)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({}, "expected an object of captions"),
        ([], "expected an object of captions"),
        ({"v": None}, "video v: Input should be a valid list"),
        ({"v": {"one": "A dog."}}, "video v: not captions by second"),
        ({"v": [{"start": 0, "text": "A dog."}]}, "video v: 0.end: Field required"),
        ({"v": {"1": 5}}, "video v: text: Input should be a valid string"),
        ({"v": {"-1": "A dog."}}, "video v: start: Input should be greater than or equal to 0"),
        ({"v": [{"start": 3, "end": 2, "text": "A dog."}]}, "ends at 2 s, before it begins at 3 s"),
        ({"v": [{"start": 3, "end": float("inf"), "text": "A dog."}]}, "0.end: Input should be a finite"),
    ],
)
def test_captions_that_are_none(tmp_path: Path, value: Any, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        read_captions(write(tmp_path / "c.json", value))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"v": {"0": "\\ud800"}}', "not valid JSON: a text holds half of a surrogate pair"),
        ('{"v": {"0": "A dog."}, "v": {}}', "not valid JSON: key 'v' is given twice"),
        ("[" * 100_000, "not valid JSON: nested too deeply"),
    ],
)
def test_captions_that_nobody_can_read(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(DataError, match=problem):
        read_captions(tmp_path / "c.json")


def test_a_video_that_cannot_name_its_file(tmp_path: Path) -> None:
    (tmp_path / "questions.csv").write_text(CSV)
    captions = write(tmp_path / "captions.json", {"../../evil": {"0": "A dog."}})
    out = tmp_path / "a/b/out"
    asked = ["import-tree", str(captions), "--questions", str(tmp_path / "questions.csv"), "--out", str(out)]
    problem = CliRunner().invoke(app, asked).exception
    assert isinstance(problem, DataError)
    assert str(problem).startswith("video_id '../../evil' cannot name a file")
    assert not list(tmp_path.rglob("evil*"))


def test_timed_captions_are_taken_as_they_are(tmp_path: Path) -> None:
    value = {"v": [{"start": 0.5, "end": 2, "text": "A dog."}]}
    (caption,) = read_captions(write(tmp_path / "c.json", value))["v"]
    assert (caption.start, caption.end, caption.text) == (0.5, 2, "A dog.")


def test_pairs_that_are_no_list(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"t.json: pair Input should be a valid list"):
        read_clip_pairs(write(tmp_path / "t.json", pair()))


def test_a_pair_without_its_kind(tmp_path: Path) -> None:
    bare = {key: part for key, part in pair().items() if key != "type"}
    with pytest.raises(DataError, match=r"pair 1\.type: Field required"):
        read_clip_pairs(write(tmp_path / "t.json", [pair(), bare]))


def test_the_files_that_answers_follow_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("b.json", "sub/a.png"):
        (tmp_path / name).write_text("x")
    files = [(tmp_path / name).as_posix() for name in ("b.json", "sub/a.png")]
    assert looked_up_files("qa", str(tmp_path)) == []
    assert looked_up_files("tree", str(tmp_path)) == files
    monkeypatch.chdir(Path(__file__).parents[2])
    assert looked_up_files("examples.notebook:make", str(tmp_path)) == [*files, "examples/notebook.py"]
    assert looked_up_files("no.such.module:make", str(tmp_path)) == files


@pytest.mark.skipif(not REAL.is_dir(), reason="no nextqa_tree; set SKILLMAKE_REAL_DATA")
def test_the_real_pairs_are_one_unit_each() -> None:
    trees = make_trees(read_captions(REAL / "captions_1fps.json"), 4, 4)
    frames: dict[str, int] = {}
    for line in (REAL / "questions.csv").read_text().splitlines()[1:]:
        video, count = line.split(",")[:2]
        frames[video] = int(count)
    questions = clip_questions(read_clip_pairs(REAL / "videohallucer_twins.json"), trees, frames)
    units = make_units(questions)
    assert (len(trees), len(questions), len(units)) == (62, 152, 76)
    assert {len(unit.questions) for unit in units} == {2}
    for question in questions:
        start, end = question.scope["span"]  # type: ignore[misc]
        assert trees[question.video_id or ""].leaves((start, end))  # type: ignore[arg-type]
