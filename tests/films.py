"""Small videos with questions that need looking up."""

from pathlib import Path

from skillmake.artifacts import canonical, write_text
from skillmake.questions import Question, dump_questions
from skillmake.windows import Caption, tree_from_captions

ANIMALS = ("dog", "cat", "horse", "goat")
THINGS = ("ball", "stick", "shoe", "hat")


def write_films(root: Path, count: int) -> None:
    """`count` videos under root/videos and, of each, a question and a pair in root/questions.jsonl."""
    questions: list[Question] = []
    for k in range(count):
        video, animal, thing = f"v{k:02d}", ANIMALS[k % 4], THINGS[k // 4 % 4]
        scenes = [f"A {other} sits in a field." for other in ANIMALS if other != ANIMALS[(k + 1) % 4]]
        scenes.insert(k % 4, f"The {animal} carries something into the yard. The {animal} carries a {thing}.")
        captions = [Caption(start=2 * s, end=2 * s + 2, text=text) for s, text in enumerate(scenes)]
        tree = tree_from_captions(video, captions, window_s=2, fanout=2)
        write_text(root / "videos" / f"{video}.json", canonical(tree))
        questions.append(
            _question(f"{video}-q", f"{video}-q", "carry", f"What does the {animal} carry?", thing, video)
        )
        for suffix, named, answer in (("a", animal, "yes"), ("b", ANIMALS[(k + 1) % 4], "no")):
            text = f"Is there a {named} in the video?"
            questions.append(_question(f"{video}-p{suffix}", f"{video}-p", "there", text, answer, video))
    dump_questions(root / "questions.jsonl", questions)


def _question(name: str, unit: str, task_type: str, text: str, answer: str, video: str) -> Question:
    value = {
        "question_id": name,
        "unit_id": unit,
        "task_type": task_type,
        "question": text,
        "options": ["yes", "no"] if answer in ("yes", "no") else list(THINGS),
        "answer": answer,
        "video_id": video,
        "scope": {"span": [0, 8]} if task_type == "there" else {},
    }
    return Question.model_validate(value)
