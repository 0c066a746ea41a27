"""What a run starts from, read from its parameters alone: for commands outside of the DAG."""

from dataclasses import dataclass
from pathlib import Path

from skillmake.benchmark import Benchmark, Split, split
from skillmake.config.models import Config
from skillmake.memo import default_cache_dir
from skillmake.source import REHEARSAL, run_questions
from skillmake.texts import Texts, seed_texts


@dataclass(frozen=True)
class Start:
    """Parameters, benchmark with its pools, and seed texts: what the DAG would begin with."""

    config: Config
    split: Split
    benchmark: Benchmark
    texts: Texts

    @classmethod
    def of(cls, config: Config) -> "Start":
        """Read questions and seed texts; nothing is written and no model is asked.

        Raises DataError or ConfigError as the rules questions, pools and seed would.
        """
        source = config.data.questions
        questions = run_questions(config, None if source == REHEARSAL else Path(source))
        pools = split(questions, config)
        texts = seed_texts(config.data, pools.trainable)
        return cls(config, pools, Benchmark(questions, pools), texts)

    @property
    def log_dir(self) -> Path:
        """Where calls are counted: with those of the run, so that `limits` hold for both."""
        return Path("runs") / self.config.run / "log"

    @property
    def cache_dir(self) -> Path:
        return default_cache_dir()
