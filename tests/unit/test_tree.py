"""Video trees: what is refused, what captions become, and the tools over them."""

import json
from pathlib import Path
from typing import Any

import pytest

from skillmake.agent.environments.tree import TreeContext, TreeEnvironment
from skillmake.config.models import Agent as AgentConfig
from skillmake.errors import DataError
from skillmake.tree import LARGEST_FRAME, LONGEST_CAPTION, Forest, VideoTree, data_url, load_tree, media_type
from skillmake.windows import Caption, tree_from_captions
from tests.scripted import Scripted, agent, call, calls, says, texts
from tests.worlds import question

PIXEL = b"\x89PNG\r\n\x1a\n not a real picture"


def node(node_id: str, parent: str | None, start: float, end: float, **more: Any) -> dict[str, Any]:
    return {"node_id": node_id, "parent": parent, "span": [start, end], **more}


def write(folder: Path, nodes: list[dict[str, Any]], video_id: str = "v", duration: float = 8) -> Path:
    path = folder / f"{video_id}.json"
    path.write_text(json.dumps({"video_id": video_id, "duration": duration, "nodes": nodes}))
    return path


ROOT = node("0", None, 0, 8)


@pytest.mark.parametrize(
    ("nodes", "problem"),
    [
        ([ROOT, node("a", "b", 0, 4), node("b", "a", 0, 4)], "node a: its parents form a circle: a → b → a"),
        ([ROOT, node("a", "a", 0, 4)], "node a: its parents form a circle: a → a"),
        ([ROOT, node("a", "9", 0, 4)], "node a: there is no parent 9"),
        ([ROOT, node("a", "0", 4, 9)], "node a: span 4-9 s is outside of the video of 8 s"),
        ([ROOT, node("a", "0", -1, 4)], "node a: span -1-4 s must begin at 0 or later"),
        ([ROOT, node("a", "0", 4, 4)], "node a: span 4-4 s must begin at 0 or later and end after"),
        (
            [ROOT, node("a", "0", 0, 4), node("b", "a", 3, 5)],
            "node b: span 3-5 s is outside of its parent a, 0-4 s",
        ),
        ([ROOT, node("a", "0", 0, 4, frames=["a.png"])], "node a: frame a.png is not there"),
        ([ROOT, node("a", "0", 0, 4, frames=["../a.png"])], "node a: frame ../a.png must be a path inside"),
        ([ROOT, node("a", "0", 0, 4, frames=["/a.png"])], "node a: frame /a.png must be a path inside"),
        (
            [ROOT, node("a", "0", 0, 4, frames=["v.json"])],
            "node a: frame v.json is no PNG, JPEG, GIF or WebP",
        ),
        ([ROOT, node("a", "0", float("nan"), 4)], "node a: span nan-4 s must begin at 0 or later"),
        (
            [ROOT, node("a", "0", 0, 4, caption="x" * 20_000_000)],
            f"node a: caption has 20000000 characters, at most {LONGEST_CAPTION}",
        ),
        ([ROOT, ROOT], "node 0: the id is used 2 times"),
        ([ROOT, node("a", None, 0, 4)], "needs one node without a parent, has 2: 0, a"),
        ([node("a", "a", 0, 4)], "needs one node without a parent, has 0: none"),
        ([], "nodes: Tuple should have at least 1 item"),
        ([{**ROOT, "captoin": ""}], "nodes.0.captoin: Extra inputs are not permitted"),
    ],
)
def test_a_tree_that_is_not_sound_is_refused(
    tmp_path: Path, nodes: list[dict[str, Any]], problem: str
) -> None:
    with pytest.raises(DataError) as caught:
        load_tree(write(tmp_path, nodes))
    assert problem in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "v.json"))
    assert len(str(caught.value)) < 1000


def test_a_frame_that_is_too_large(tmp_path: Path) -> None:
    with (tmp_path / "a.png").open("wb") as file:
        file.write(PIXEL)
        file.truncate(LARGEST_FRAME + 1)
    with pytest.raises(DataError, match=r"node 0: frame a.png has 5000001 bytes, at most 5000000"):
        load_tree(write(tmp_path, [{**ROOT, "frames": ["a.png"]}]))


@pytest.mark.parametrize("duration", [0, -1, float("inf"), float("nan")])
def test_a_video_that_does_not_last(tmp_path: Path, duration: float) -> None:
    with pytest.raises(DataError, match="duration: Input should be"):
        load_tree(write(tmp_path, [ROOT], duration=duration))


def test_the_kind_of_a_picture_is_that_of_its_bytes(tmp_path: Path) -> None:
    heads = {
        b"\x89PNG\r\n\x1a\n": "image/png",
        b"\xff\xd8\xff\xe0": "image/jpeg",
        b"GIF89a": "image/gif",
        b"RIFF\n\x00\x00\x00WEBPVP8 ": "image/webp",
        b"RIFF\x00\x00\x00\x00WAVEfmt ": None,
        b"": None,
    }
    assert {head: media_type(head) for head in heads} == heads
    (tmp_path / "a.png").write_bytes(b"\xff\xd8\xff\xe0")
    assert data_url(tmp_path / "a.png") == "data:image/jpeg;base64,/9j/4A=="


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "not valid JSON: Expecting value"),
        (b'{"video_id": "v\xe4"}', "not UTF-8 at byte 15"),
        (b'{"video_id": "\\ud800"}', "not valid JSON: a text holds half of a surrogate pair"),
        (b'{"video_id": "v", "video_id": "w"}', "not valid JSON: key 'video_id' is given twice"),
        (b"[" * 100_000, "not valid JSON: nested too deeply"),
        (b"[1]", "the file: Input should be a valid dictionary"),
    ],
)
def test_a_file_that_is_no_tree(tmp_path: Path, data: bytes, problem: str) -> None:
    """Nobody is told to delete a file of their own."""
    (tmp_path / "v.json").write_bytes(data)
    with pytest.raises(DataError) as caught:
        load_tree(tmp_path / "v.json")
    assert str(caught.value).startswith(f"{tmp_path / 'v.json'}: {problem}")
    assert "delete" not in str(caught.value)


def test_a_byte_order_mark_is_no_problem(tmp_path: Path) -> None:
    path = write(tmp_path, [ROOT])
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert load_tree(path).root.node_id == "0"


def test_a_tree_as_deep_as_it_is_large(tmp_path: Path) -> None:
    """100,000 nodes one inside of the other, the deepest first; a picture at both ends."""
    (tmp_path / "a.png").write_bytes(PIXEL)
    chain = [node(str(k), str(k - 1) if k else None, 0, 8) for k in range(100_000)]
    chain[0]["frames"] = chain[-1]["frames"] = ["a.png"]
    tree = load_tree(write(tmp_path, chain[::-1]))
    assert tree.frames_below("0") == ["a.png", "a.png"]
    assert [leaf.node_id for leaf in tree.leaves()] == ["99999"]
    chain[0]["parent"] = "99999"
    with pytest.raises(DataError, match="needs one node without a parent, has 0") as caught:
        load_tree(write(tmp_path, chain[::-1]))
    assert len(str(caught.value)) < 2000


def test_every_problem_is_listed(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        load_tree(write(tmp_path, [ROOT, *(node(f"n{k:02d}", "9", 0, 4) for k in range(25))]))
    assert str(caught.value).count("there is no parent 9") == 20
    assert "and 5 more" in str(caught.value)


@pytest.mark.parametrize(
    ("video", "problem"),
    [("w", "no tree of video w"), ("../v", "cannot name a file"), ("x", "holds video 'v'")],
)
def test_a_video_without_its_tree(tmp_path: Path, video: str, problem: str) -> None:
    write(tmp_path, [ROOT]).rename(tmp_path / "x.json")
    with pytest.raises(DataError, match=problem):
        Forest(tmp_path).tree(video)


def test_the_digest_follows_frames_too(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PIXEL)
    write(tmp_path, [{**ROOT, "frames": ["a.png"]}])
    before = Forest(tmp_path).digest("v")
    assert before == Forest(tmp_path).digest("v")
    (tmp_path / "a.png").write_bytes(PIXEL + b"!")
    assert before != Forest(tmp_path).digest("v")


def captions(n: int) -> list[Caption]:
    return [Caption(start=k, end=k + 1, text=f"Second {k}. More of it.") for k in range(n)]


def test_a_tree_from_captions_by_hand() -> None:
    tree = tree_from_captions("v", captions(5), window_s=2, fanout=2)
    assert [(n.node_id, n.parent, n.span) for n in tree.nodes] == [
        ("0", None, (0, 5)),
        ("0.0", "0", (0, 4)),
        ("0.0.0", "0.0", (0, 2)),
        ("0.0.1", "0.0", (2, 4)),
        ("0.1", "0", (4, 5)),
        ("0.1.0", "0.1", (4, 5)),
    ]
    assert tree.by_id["0.0.1"].caption == "Second 2. More of it.\nSecond 3. More of it."
    assert tree.by_id["0.0"].caption == "0-2 s: Second 0.\n2-4 s: Second 2."
    assert tree.root.caption == "0-4 s: Second 0.\n4-5 s: Second 4."
    assert [n.node_id for n in tree.leaves()] == ["0.0.0", "0.0.1", "0.1.0"]
    assert [n.node_id for n in tree.leaves((1.5, 2))] == ["0.0.0"]
    assert [n.node_id for n in tree.leaves((2, 2))] == ["0.0.1"]
    assert [n.node_id for n in tree.leaves((1, 4.5))] == ["0.0.0", "0.0.1", "0.1.0"]


def test_windows_without_captions_are_not_summed_up() -> None:
    rows = [Caption(start=k, end=k + 1, text=f"Second {k}.") for k in (0, 5)]
    assert (
        tree_from_captions("v", rows, window_s=2, fanout=9).root.caption
        == "0-2 s: Second 0.\n4-6 s: Second 5."
    )


def test_one_window_is_a_tree_and_equal_captions_are_kept_once() -> None:
    same = [Caption(start=k, end=k + 1, text="A dog. It runs.") for k in range(3)]
    tree = tree_from_captions("v", same, window_s=10, fanout=2, duration=4)
    assert [(n.node_id, n.span, n.caption) for n in tree.nodes] == [("0", (0, 4), "A dog. It runs.")]


def test_sizes_that_make_no_tree() -> None:
    for captions_, window, fanout, message in [
        ([], 1, 2, "no captions"),
        (captions(2), 0, 2, "need window_s > 0"),
        (captions(2), float("inf"), 2, "need window_s > 0 and finite"),
        (captions(2), float("nan"), 2, "need window_s > 0 and finite"),
        ([Caption(start=0, end=0, text="Nothing.")], 1, 2, "video v: lasts 0 s, by its captions"),
        (captions(2), 1, 1, "fanout of 2 or more"),
    ]:
        with pytest.raises(DataError, match=message):
            tree_from_captions("v", captions_, window, fanout)
    with pytest.raises(DataError, match=r"video v: .* in windows of 1 s are 3600000, at most 100000"):
        tree_from_captions("v", [Caption(start=3_599_999, end=3_600_000, text="Milliseconds?")], 1, 2)
    with pytest.raises(DataError, match="use smaller windows"):
        tree_from_captions("v", [Caption(start=0, end=1, text="x" * (LONGEST_CAPTION + 1))], 1, 2)


@pytest.fixture
def film(tmp_path: Path) -> Path:
    """Eight seconds in four windows; the last two have a frame each."""
    for name in ("c.png", "d.png"):
        (tmp_path / name).write_bytes(PIXEL + name.encode())
    nodes = [
        node("0", None, 0, 8, caption="all"),
        node("0.0", "0", 0, 4, caption="first half"),
        node("0.0.0", "0.0", 0, 2, caption="a brown dog sleeps"),
        node("0.0.1", "0.0", 2, 4, caption="the brown dog runs to a lake " + "far " * 60),
        node("0.1", "0", 4, 8, caption=""),
        node("0.1.0", "0.1", 4, 6, caption="a child laughs", frames=["c.png"]),
        node("0.1.1", "0.1", 6, 8, caption="rain", frames=["d.png"]),
    ]
    write(tmp_path, nodes)
    return tmp_path


def context(folder: Path) -> TreeContext:
    asked = question("q", video_id="v", scope={"span": [3, 5]})
    return TreeEnvironment(AgentConfig(), folder).open(asked)


def test_the_tools_by_hand(film: Path) -> None:
    tools = context(film)
    assert tools.evidence == ("0.0.1", "0.1.0")
    children = tools.call("list_children", {"node_id": "0"})
    assert (children.text, children.nodes) == (
        "0.0 [0-4 s, 2 children] first half\n0.1 [4-8 s, 2 children] ",
        (),
    )
    assert "is a leaf" in tools.call("list_children", {"node_id": "0.0.0"}).text
    read = tools.call("read_node", {"node_id": "0.0.0"})
    assert read.text == "Node 0.0.0, 0-2 s, inside of 0.0, leaf.\na brown dog sleeps"
    assert read.nodes == ("0.0.0",)
    assert tools.call("read_node", {"node_id": "0.1"}).text.endswith("\n(no caption)")
    hits = tools.call("search_captions", {"query": "brown dog", "limit": 3}).text.split("\n")
    assert [hit.split()[0] for hit in hits] == ["0.0.0", "0.0.1"]
    assert hits[1].endswith("…")
    assert len(hits[1]) == len("0.0.1 [2-4 s, leaf] ") + 161
    assert len(tools.call("search_captions", {"query": "brown", "limit": 1}).text.split("\n")) == 1
    nothing = tools.call("search_captions", {"query": "zebra"}).text
    assert nothing.startswith("No caption has a word of 'zebra'. Try other words, or list_children.")
    assert nothing.endswith("view_frames shows what captions do not say.")


def test_a_node_that_is_not_there(film: Path) -> None:
    result = context(film).call("read_node", {"node_id": "0.0.2"})
    assert result.is_error
    assert result.text == "there is no node '0.0.2'; list_children shows the ids"


def test_frames_are_data_urls_evenly_chosen(film: Path) -> None:
    tools = context(film)
    result = tools.call("view_frames", {"node_id": "0"})
    assert result.text == "Node 0, 0-8 s: 2 of 2 frames."
    assert [url[:22] for url in result.images] == ["data:image/png;base64,"] * 2
    assert tools.call("view_frames", {"node_id": "0", "limit": 1}).images == result.images[:1]
    assert tools.call("view_frames", {"node_id": "0.0"}).is_error
    bare = TreeContext(VideoTree.model_validate(_without_frames(tools.tree)), film, "")
    assert [tool.name for tool in bare.tools] == ["list_children", "read_node", "search_captions"]
    assert "view_frames" not in bare.call("search_captions", {"query": "zebra"}).text


def _without_frames(tree: VideoTree) -> dict[str, Any]:
    value = tree.model_dump()
    return {**value, "nodes": [{**node, "frames": ()} for node in value["nodes"]]}


def test_frames_go_to_the_vision_model_as_image_parts(film: Path, tmp_path: Path) -> None:
    seen: list[Any] = []

    def refine(request: Any) -> str:
        seen.append(request.messages[1]["content"])
        return "I see rain."

    student = Scripted(calls(call("view_frames", {"node_id": "0.1"})), says("yes"), refine=refine)
    environment = TreeEnvironment(AgentConfig(), film)
    asked = question("q", video_id="v")
    prompts = texts({"tools/view_frames/extract.md": "Say what you see."})
    (row,) = agent(student, tmp_path / "run", environment).run([asked], prompts)
    assert [part["type"] for part in seen[0]] == ["text", "image_url", "image_url"]
    assert seen[0][1]["image_url"]["url"].startswith("data:image/png;base64,")
    assert (row.steps[0].result, row.steps[0].nodes) == ("I see rain.", ("0.1",))


def test_frames_without_a_prompt_for_them_are_an_error(film: Path, tmp_path: Path) -> None:
    student = Scripted(calls(call("view_frames", {"node_id": "0.1"})), says("yes"))
    environment = TreeEnvironment(AgentConfig(), film)
    (row,) = agent(student, tmp_path / "run", environment).run([question("q", video_id="v")], texts())
    assert (row.steps[0].outcome, row.steps[0].nodes) == ("error", ())
    assert "tools/view_frames/extract.md" in row.steps[0].result


def test_the_prompt_tells_of_the_video(film: Path) -> None:
    environment = TreeEnvironment(AgentConfig(), film)
    asked = question("q", video_id="v", scope={"span": [3, 50]})
    last = environment.messages(asked, "S", "")[-1]["content"]
    assert last.endswith("Video v: 8 s, root node 0, 4 windows at the leaves. The question is about 3-8 s.")
    plain = environment.messages(question("q", video_id="v"), "S", "")[-1]["content"]
    assert plain.endswith("4 windows at the leaves.")


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({}, "question q: no video_id"),
        ({"video_id": "w"}, "question q: .*no tree of video w"),
        ({"video_id": "v", "scope": {"span": [9, 10]}}, "scope.span .* is not within 8 s"),
        ({"video_id": "v", "scope": {"span": [5, 4]}}, "scope.span"),
        ({"video_id": "v", "scope": {"span": "3-4"}}, "scope.span"),
        ({"video_id": "v", "scope": {"span": [1, "2"]}}, "scope.span"),
    ],
)
def test_a_question_whose_video_is_not_there(film: Path, more: dict[str, Any], problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        TreeEnvironment(AgentConfig(), film).open(question("q", **more))
