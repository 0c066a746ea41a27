"""Similar and typical texts, by TF-IDF over the texts at hand."""

import re
from collections import Counter
from collections.abc import Sequence
from math import log, sqrt

Vector = dict[str, float]


def tfidf(texts: Sequence[str]) -> list[Vector]:
    """One unit vector per text; weights are tf · log((1+N)/(1+df)) + tf (smoothed idf)."""
    bags = [Counter(re.findall(r"[a-z0-9']+", text.casefold())) for text in texts]
    frequency = Counter(word for bag in bags for word in bag)
    vectors = []
    for bag in bags:
        raw = {w: n * (1 + log((1 + len(texts)) / (1 + frequency[w]))) for w, n in sorted(bag.items())}
        norm = sqrt(sum(x * x for x in raw.values())) or 1.0
        vectors.append({word: x / norm for word, x in raw.items()})
    return vectors


def cosine(a: Vector, b: Vector) -> float:
    small, large = (a, b) if len(a) <= len(b) else (b, a)
    return sum(x * large.get(word, 0.0) for word, x in small.items())


def nearest(text: str, others: Sequence[str], k: int) -> list[int]:
    """Places of the k texts most similar to `text`, best first; the earlier of equals wins."""
    own, *vectors = tfidf([text, *others])
    likeness = [round(cosine(own, vector), 9) for vector in vectors]
    return sorted(range(len(others)), key=lambda place: (-likeness[place], place))[:k]


def typicality(vectors: Sequence[Vector], labels: Sequence[str]) -> list[float]:
    """Mean similarity to the own label's other texts minus the largest mean to another label's."""
    out = []
    for i, (vector, own) in enumerate(zip(vectors, labels, strict=True)):
        near: dict[str, list[float]] = {}
        for j, other in enumerate(vectors):
            if i != j:
                near.setdefault(labels[j], []).append(cosine(vector, other))
        means = {label: sum(values) / len(values) for label, values in near.items()}
        rivals = [mean for label, mean in means.items() if label != own]
        out.append(round(means.get(own, 0.0) - max(rivals, default=0.0), 9))
    return out
