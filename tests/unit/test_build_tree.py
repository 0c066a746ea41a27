"""Video files become trees with frames: values by hand, and files that are no whole video."""

import json
import struct
import wave
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from typer.testing import CliRunner, Result

from skillmake.build_tree import Sizes, build, video_ids
from skillmake.captioning import Captioned
from skillmake.cli import app
from skillmake.errors import ConfigError, DataError, StorageError
from skillmake.film import read_film
from skillmake.rehearsal.pixels import main_colour
from skillmake.tree import Forest
from skillmake.windows import Caption
from tests.clips import make_clip

COLOURS = ("red", "green", "blue", "yellow", "pink")
SIZES = Sizes(window_s=2, fanout=2, fps=1, side=512)


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five seconds at ten pictures a second, each second of its own colour."""
    return make_clip(tmp_path_factory.mktemp("clip") / "five.mp4", COLOURS)


def test_a_tree_by_hand(clip: Path, tmp_path: Path) -> None:
    built = build(clip, "five", tmp_path, SIZES)
    assert built.summary == "five: 5 s, 3 windows, 5 frames, 0 captions"
    tree = Forest(tmp_path).tree("five")
    assert (tree, tree.duration) == (built.tree, 5.0)
    frames = [f"five/f00000{second}000.jpg" for second in range(5)]
    assert [(node.node_id, node.span, node.caption, node.frames) for node in tree.nodes] == [
        ("0", (0, 5), "", ()),
        ("0.0", (0, 4), "", ()),
        ("0.0.0", (0, 2), "", tuple(frames[:2])),
        ("0.0.1", (2, 4), "", tuple(frames[2:4])),
        ("0.1", (4, 5), "", ()),
        ("0.1.0", (4, 5), "", (frames[4],)),
    ]
    assert tuple(main_colour((tmp_path / frame).read_bytes()) for frame in frames) == COLOURS


def test_the_same_bytes_again_and_nothing_left_of_another_build(clip: Path, tmp_path: Path) -> None:
    def files() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in tmp_path.rglob("*.*")}

    build(clip, "five", tmp_path, SIZES)
    first = files()
    assert len(first) == 6
    (tmp_path / "five/notes.txt").write_text("mine")
    build(clip, "five", tmp_path, Sizes(window_s=2, fanout=2, fps=4, side=20))
    assert len(files()) == 1 + 20 + 1
    build(clip, "five", tmp_path, SIZES)
    assert files() == {**first, "notes.txt": b"mine"}


@pytest.mark.parametrize(
    ("fps", "seconds"),
    [(0.5, [0, 2, 4]), (0.3, [0, 10 / 3]), (2, [k / 2 for k in range(10)]), (0.001, [0])],
)
def test_frames_at_a_rate(clip: Path, fps: float, seconds: list[float]) -> None:
    film = read_film(clip, fps, 64, lambda _name, _data: None)
    assert film.duration == 5
    assert list(film.frames.values()) == pytest.approx(seconds)


def test_a_picture_is_saved_once_even_at_a_higher_rate(clip: Path) -> None:
    for rate in (1000, 1e15):
        film = read_film(clip, rate, 64, lambda _name, _data: None)
        assert list(film.frames.values()) == pytest.approx([k / 10 for k in range(50)])


def first_picture(path: Path, side: int) -> Image.Image:
    found: dict[str, bytes] = {}
    read_film(path, 0.001, side, found.__setitem__)
    return Image.open(BytesIO(found["f000000000.jpg"]))


def test_pictures_are_scaled_down_and_never_up(clip: Path) -> None:
    assert [first_picture(clip, side).size for side in (32, 64, 512)] == [(32, 24), (64, 48), (64, 48)]


def test_a_phones_turned_video_is_turned_back(clip: Path, tmp_path: Path) -> None:
    data = clip.read_bytes()
    matrix = struct.pack(">9i", 65536, 0, 0, 0, 65536, 0, 0, 0, 2**30)
    turned = struct.pack(">9i", 0, 65536, 0, -65536, 0, 0, 0, 0, 2**30)  # a quarter, clockwise
    place = data.index(matrix, data.index(b"tkhd"))
    (tmp_path / "turned.mp4").write_bytes(data[:place] + turned + data[place + len(matrix) :])
    picture = first_picture(tmp_path / "turned.mp4", 512)
    assert picture.size == (48, 64)
    # The white mark that was left above is right above
    assert min(picture.getpixel((43, 5))) > 200  # type: ignore[type-var]
    assert picture.getpixel((5, 5))[1] < 100  # type: ignore[index]


def write_sound(path: Path) -> None:
    with wave.open(str(path), "wb") as sound:
        sound.setparams((1, 2, 8000, 0, "NONE", ""))
        sound.writeframes(bytes(16000))


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("none.mp4", "none.mp4: cannot be read as a video: No such file"),
        ("empty.mp4", "empty.mp4: cannot be read as a video: Invalid data"),
        ("text.mp4", "text.mp4: cannot be read as a video: Invalid data"),
        ("cut.mp4", "cut.mp4: cannot be read as a video: Invalid data"),
        ("cut.mkv", r"cut.mkv: its pictures end at \d\.\d\d s of 5.00 s"),
        ("sound.wav", "sound.wav: no pictures in it"),
        (".", "cannot be read as a video: Is a directory"),
    ],
)
def test_files_that_are_no_whole_video(clip: Path, tmp_path: Path, name: str, problem: str) -> None:
    (tmp_path / "empty.mp4").touch()
    (tmp_path / "text.mp4").write_text("no video")
    whole = make_clip(tmp_path / "whole.mkv", COLOURS).read_bytes()
    (tmp_path / "cut.mkv").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "cut.mp4").write_bytes(clip.read_bytes()[:-500])
    write_sound(tmp_path / "sound.wav")
    with pytest.raises(DataError, match=problem):
        read_film(tmp_path / name, 1, 512, lambda _name, _data: None)


@pytest.mark.parametrize(
    ("fps", "side"),
    [(0, 512), (-1, 512), (0.0001, 512), (float("inf"), 512), (float("nan"), 512), (1, 0)],
)
def test_rates_and_sides_of_no_pictures(clip: Path, fps: float, side: int) -> None:
    with pytest.raises(ConfigError, match="need fps of"):
        read_film(clip, fps, side, lambda _name, _data: None)


def test_a_place_that_takes_no_frames(clip: Path, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(StorageError, match=r"out/five/f000000000.jpg: cannot be written: Not a directory"):
        build(clip, "five", tmp_path / "out", SIZES)


def test_names_become_ids() -> None:
    assert video_ids([Path("a/x.1.mp4"), Path("b/y.mkv")]) == {"x.1": Path("a/x.1.mp4"), "y": Path("b/y.mkv")}
    with pytest.raises(DataError, match=r"my film.mp4: the name cannot be a video_id"):
        video_ids([Path("my film.mp4")])
    with pytest.raises(DataError, match=r"b/x.mkv: a/x.mp4 has the same name"):
        video_ids([Path("a/x.mp4"), Path("b/x.mkv")])


def test_captions_of_another_video(clip: Path, tmp_path: Path) -> None:
    late = [Caption(start=5, end=6, text="Credits.")]
    with pytest.raises(DataError, match="a caption begins at 5 s, the video ends at 5 s"):
        build(clip, "five", tmp_path, SIZES, late)


def test_a_writer_gives_windows_their_captions(clip: Path, tmp_path: Path) -> None:
    def write(windows: Any) -> Captioned:
        assert [(window.span, len(window.frames)) for window in windows] == [((0, 4), 4), ((4, 5), 1)]
        return Captioned(tuple(windows), 2)

    built = build(clip, "five", tmp_path, Sizes(4, 2, 1, 64), writer=write)
    assert built.summary.endswith("0 captions; 2 captions were cut off: raise models.vision.max_tokens")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["build-tree", *map(str, arguments)])


def test_the_command_takes_known_captions(clip: Path, tmp_path: Path) -> None:
    captions = tmp_path / "captions.json"
    captions.write_text(json.dumps({"five": {"0": "A red wall.", "4": "Pink."}, "other": {"0": "x"}}))
    result = run(clip, "--out", tmp_path / "out", "--window-s", 4, "--captions", captions)
    assert result.output == "five: 5 s, 2 windows, 5 frames, 2 captions\n"
    assert [node.caption for node in Forest(tmp_path / "out").tree("five").leaves()] == [
        "A red wall.",
        "Pink.",
    ]
    captions.write_text(json.dumps({"other": {"0": "x"}}))
    problem = run(clip, "--out", tmp_path / "out", "--captions", captions).exception
    assert "captions.json: no captions of five" in str(problem)


def params(tmp_path: Path, vision: str) -> Path:
    path = tmp_path / "params.yaml"
    path.write_text(f"models: {{vision: {vision}}}\n")
    return path


def test_the_command_lets_the_vision_model_write_captions(
    clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt = Path("prompts/video/caption.md").resolve()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SKILLMAKE_CACHE", str(tmp_path / "cache"))
    asked = ("--out", "out", "--captions", "vision", "--prompt", prompt, "--window-s", 4)
    vision = params(tmp_path, "{provider: rehearsal, model: v, max_tokens: 100}")
    result = run(clip, *asked, "--params", vision)
    assert result.output == "five: 5 s, 2 windows, 5 frames, 2 captions\n"
    tree = Forest(Path("out")).tree("five")
    first = "Picture 1 is mostly red. Picture 2 is mostly green."
    later = "Picture 3 is mostly blue. Picture 4 is mostly yellow."
    assert [node.caption for node in tree.leaves()] == [f"{first} {later}", "Picture 1 is mostly pink."]
    assert tree.root.caption == "0-4 s: Picture 1 is mostly red.\n4-5 s: Picture 1 is mostly pink."
    calls = [
        json.loads(line) for line in Path("runs/main/log/calls/build-tree.jsonl").read_text().splitlines()
    ]
    assert [(call["role"], call["cached"]) for call in calls] == [("vision", False)] * 2
    short = run(clip, *asked, "--params", params(tmp_path, "{provider: rehearsal, model: v, max_tokens: 2}"))
    assert short.output.endswith("2 captions; 2 captions were cut off: raise models.vision.max_tokens\n")
    assert "models.vision is null" in str(run(clip, *asked, "--params", params(tmp_path, "null")).exception)
    vision = params(tmp_path, "{provider: rehearsal, model: v}")
    nothing = run(clip, *asked, "--params", vision, "--prompt", "nothing.md").exception
    assert str(nothing).startswith("nothing.md: cannot be read")
