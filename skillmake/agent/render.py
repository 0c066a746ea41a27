"""The prompt of a question: system prompt, skill, worked examples as earlier turns, question."""

from skillmake.llm.types import Message
from skillmake.questions import Question
from skillmake.skilltext import examples, rules_text

ANSWER_RULE = "Answer with exactly one of: {options}."


def build_messages(
    question: Question, system: str, skill: str, options_in: str = "question"
) -> tuple[Message, ...]:
    """Messages of a question without tools.

    All that questions of one type share comes first, so that an endpoint can reuse the prefix.
    `options_in`: `system` lists the options once in the system message, `question` with each question.
    """
    parts = [system.strip(), rules_text(skill).strip()]
    if question.options and options_in == "system":
        parts.append(ANSWER_RULE.format(options="; ".join(question.options)))
    messages: list[Message] = [{"role": "system", "content": "\n\n".join(part for part in parts if part)}]
    for example in examples(skill):
        messages.append({"role": "user", "content": example.question})
        messages.append({"role": "assistant", "content": example.answer})
    messages.append({"role": "user", "content": question_text(question, options_in)})
    return tuple(messages)


def question_text(question: Question, options_in: str = "question") -> str:
    """Context, question and, with `options_in: question`, the options one per line."""
    parts = [question.context or "", question.question]
    if question.options and options_in == "question":
        listed = "\n".join(f"- {option}" for option in question.options)
        parts.append(f"Options:\n{listed}\nAnswer with exactly one of the options.")
    return "\n\n".join(part for part in parts if part)
