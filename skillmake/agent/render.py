"""The prompt of a question: system prompt, skill, worked examples as earlier turns, question."""

from skillmake.llm.types import Message
from skillmake.questions import Question
from skillmake.similarity import nearest
from skillmake.skilltext import Example, examples, rules_text

ANSWER_RULE = "Answer with exactly one of: {options}."


def build_messages(
    question: Question,
    system: str,
    skill: str,
    options_in: str = "question",
    nearest_examples: int | None = None,
) -> tuple[Message, ...]:
    """Messages of a question without tools.

    All that questions of one type share comes first, so that an endpoint can reuse the prefix.
    `options_in`: `system` lists the options once in the system message, `question` with each question.
    `nearest_examples`: show only so many worked examples, see `shown_examples`.
    """
    parts = [system.strip(), rules_text(skill).strip()]
    if question.options and options_in == "system":
        parts.append(ANSWER_RULE.format(options="; ".join(question.options)))
    messages: list[Message] = [{"role": "system", "content": "\n\n".join(part for part in parts if part)}]
    for example in shown_examples(question, skill, nearest_examples):
        messages.append({"role": "user", "content": example.question})
        messages.append({"role": "assistant", "content": example.answer})
    messages.append({"role": "user", "content": question_text(question, options_in)})
    return tuple(messages)


def shown_examples(question: Question, skill: str, most: int | None) -> list[Example]:
    """Worked examples as they are shown: all, or the `most` nearest to the question, the nearest last.

    Choosing demonstrations by similarity: Liu et al. 2022, "What Makes Good In-Context Examples for GPT-3?"
    """
    known = examples(skill)
    if most is None or len(known) <= most:
        return known
    places = nearest(question.question, [example.question for example in known], most)
    return [known[place] for place in reversed(places)]


def question_text(question: Question, options_in: str = "question") -> str:
    """Context, question and, with `options_in: question`, the options one per line."""
    parts = [question.context or "", question.question]
    if question.options and options_in == "question":
        listed = "\n".join(f"- {option}" for option in question.options)
        parts.append(f"Options:\n{listed}\nAnswer with exactly one of the options.")
    return "\n\n".join(part for part in parts if part)
