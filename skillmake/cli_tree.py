"""The commands that make video trees: from captions, and from video files."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skillmake.artifacts import canonical, write_text
from skillmake.config.load import load_config
from skillmake.errors import ConfigError, DataError
from skillmake.questions import dump_questions

if TYPE_CHECKING:
    from skillmake.build_tree import Writer

DEFAULT_PARAMS = Path("params.yaml")
WindowS = Annotated[float, typer.Option(min=0.01, help="Seconds of a window at the leaves.")]
Fanout = Annotated[int, typer.Option(min=2, help="Most children of a node.")]


def register(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    app.command("import-tree")(import_tree)
    app.command("build-tree")(build_tree)


def import_tree(
    captions: Annotated[Path, typer.Argument(help="JSON: captions by video and second, or timed.")],
    questions: Annotated[Path, typer.Option(help="Questions about the videos, read by the mapping.")],
    out: Annotated[Path, typer.Option(help="Folder for questions.jsonl and videos/.")],
    mapping: Annotated[Path, typer.Option(help="Mapping file.")] = Path("configs/import/nextqa.yaml"),
    twins: Annotated[Path | None, typer.Option(help="JSON: pairs of yes/no questions about clips.")] = None,
    window_s: WindowS = 4.0,
    fanout: Fanout = 4,
) -> None:
    """Turn captioned videos and questions about them into trees and questions."""
    from skillmake import import_tree as trees_of
    from skillmake.importer import import_questions
    from skillmake.mapping import load_mapping

    trees = trees_of.make_trees(trees_of.read_captions(captions), window_s, fanout)
    single = import_questions([questions], load_mapping(mapping))
    pairs = trees_of.read_clip_pairs(twins) if twins else []
    paired = trees_of.clip_questions(pairs, trees, trees_of.frame_counts(single))
    dump_questions(out / "questions.jsonl", trees_of.joined(single, paired))
    for video, tree in trees.items():
        write_text(out / "videos" / f"{video}.json", canonical(tree))
    typer.echo(f"{len(single)} questions, {len(pairs)} pairs, {len(trees)} videos in {out}")


def build_tree(
    videos: Annotated[list[Path], typer.Argument(help="Video files; the name of each becomes its video_id.")],
    out: Annotated[Path, typer.Option(help="Folder for <video_id>.json and the frames; see data.videos.")],
    window_s: WindowS = 4.0,
    fanout: Fanout = 4,
    fps: Annotated[float, typer.Option(min=0.001, help="Frames per second of video.")] = 1.0,
    side: Annotated[int, typer.Option(min=16, help="Most pixels of a frame's longer side.")] = 512,
    captions: Annotated[
        str, typer.Option(help="none, vision (models.vision writes them), or a file as import-tree takes.")
    ] = "none",
    prompt: Annotated[Path, typer.Option(help="What the vision model is told.")] = Path(
        "prompts/video/caption.md"
    ),
    params: Annotated[list[Path] | None, typer.Option(help="Parameter files with models.vision.")] = None,
) -> None:
    """Turn video files into trees with frames, and with captions where they are asked for."""
    from skillmake.build_tree import Sizes, build, video_ids
    from skillmake.import_tree import read_captions

    sizes, named = Sizes(window_s, fanout, fps, side), video_ids(videos)
    known = read_captions(Path(captions)) if captions not in ("none", "vision") else {}
    if known and (missing := sorted(set(named) - set(known))):
        raise DataError(
            f"{captions}: no captions of {', '.join(missing)}", "name the videos as the captions do"
        )
    with _writer(captions == "vision", prompt, params or [DEFAULT_PARAMS], out) as writer:
        for video_id, path in named.items():
            built = build(path, video_id, out, sizes, known.get(video_id, ()), writer)
            typer.echo(built.summary)


@contextmanager
def _writer(wanted: bool, prompt: Path, params: list[Path], folder: Path) -> Iterator["Writer | None"]:
    if not wanted:
        yield None
        return
    from skillmake.agent.vision import Vision
    from skillmake.captioning import caption_windows
    from skillmake.llm.factory import make_client
    from skillmake.memo import default_cache_dir

    config = load_config(*params)
    if config.models.vision is None:
        raise ConfigError("--captions vision: models.vision is null", "set it in a file for --params")
    # Counted with the calls of the run, so that `limits` hold for both
    log = Path("runs") / config.run / "log"
    client = make_client(config, "vision", cache_dir=default_cache_dir(), log_dir=log, log_name="build-tree")
    with closing(client):
        yield partial(caption_windows, Vision(client, config.models.vision), _text(prompt), folder)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read: {error}", "see --prompt") from None
