"""Head roles as numbers: every head of a model over a treebank, written to files.

core.attention.roles.relations defines the grammar counts, core.attention.heads the positional scores; induction, over
repeated random tokens, is defined below. A treebank is streamed sentence by sentence.

`core.attention.roles.rolefiles` describes and reads them.

A new measurement of a treebank replaces its rows and leaves those of others.

Induction: does a head attend to the token that followed an earlier copy of this one?

Olsson et al. 2022, "In-context Learning and Induction Heads" (arXiv 2209.11895), measure it on random text: a start
token, then 25 random tokens repeated four times. The score is the attention from a token to the tokens that followed
its earlier copies,

    mean over t in repeats 2 to 4 of Σ_{s < t, token s = token t} A[t, s + 1]

averaged over ten such texts. They call it prefix matching and average the single weights; the sum over the copies is
ours: the share of a head's attention on them. They exclude the most and the least common tokens. Here the tokens come
from the middle half of the vocabulary, since ids of merged tokens run from common to rare; each is sampled once per
text. Uniform attention to all earlier tokens scores 0.03. For byte vocabularies, Latin letters are sampled instead.

A Reformer does not attend to every earlier token: a copy that shares no chunk with the query counts as weight 0.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core import checkpoints
from core.attention.capture import trace_of
from core.attention.heads import HeadScores, HeadSums
from core.attention.roles import treebank as treebanks
from core.attention.roles.relations import RelationCounts, Tally, better_directions
from core.attention.roles.rolefiles import OUTPUT, RANDOM, RELATION_COLUMNS, ROLE_COLUMNS
from core.attention.roles.sentence import attention_of
from core.attention.roles.treebank import Sentence
from core.attention.trace import MapKind
from core.checkpoints.spec import Checkpoint
from core.errors import AtlasError, InputEmpty, InputTooLong, InputUnusable, NoAttentionMatrix
from core.language.inputs import one_text
from core.language.tokens import describe, max_tokens

LENGTH, REPEATS, EXAMPLES = 25, 4, 10
BYTES = 256
"""A vocabulary of at most this size has single bytes or letters."""

CsvRow = tuple[object, ...]


@dataclass(frozen=True, slots=True, eq=False)
class HeadMeasurements:
    """The measurements of a model's heads over one treebank."""

    relations: tuple[RelationCounts, ...]
    causal: bool
    """Whether only links to the left were scored."""
    roles: HeadScores
    others: dict[MapKind, HeadScores]
    """The scores of the other maps."""
    sentences: int
    skipped: int
    """Sentences that are too long for the model, or without tokens."""


def measure(checkpoint: Checkpoint, sentences: Iterable[Sentence]) -> HeadMeasurements:
    """Measure the heads of ``checkpoint`` over the sentences; grammar of an encoder-decoder is that of its encoder.

    Raises:
        NoAttentionMatrix: the architecture computes no attention matrix.
        InputUnusable: its tokenizer has no offsets, or no sentence could be read.
    """
    if not checkpoint.tokenizer.is_fast:
        raise InputUnusable(
            f"The tokenizer of {checkpoint.spec.name} does not give the positions of its tokens in the text, so its "
            "attention cannot be aligned with words."
        )
    tally, roles, counted, skipped = None, HeadSums(), 0, 0
    others: dict[MapKind, HeadSums] = {}
    for sentence in sentences:
        try:
            trace, belongs = attention_of(checkpoint, sentence)
        except (InputEmpty, InputTooLong):
            skipped += 1
            continue
        attention_map = trace.own
        tally = tally or Tally(attention_map.layers, attention_map.heads, causal=attention_map.causal)
        tally.add(sentence, attention_map.weights, belongs)
        roles.add(attention_map)
        for other in trace.maps:
            if other is not attention_map:
                others.setdefault(other.kind, HeadSums()).add(other)
        counted += 1
    if tally is None:
        raise InputUnusable(f"{checkpoint.spec.name} could read none of {skipped:,} sentences.")
    further = {kind: sums.scores() for kind, sums in others.items()}
    return HeadMeasurements(tally.counted(), tally.causal, roles.scores(), further, counted, skipped)


def induction(checkpoint: Checkpoint, *, examples: int = EXAMPLES, seed: int = 0) -> HeadScores:
    """The score ``induction`` of every head of a causal model, as a grid (L, H); the same for the same ``seed``.

    A model with fewer positions gets fewer tokens a repeat.

    Raises:
        NoAttentionMatrix: the model is not causal, or returns no attention weights.
    """
    if not checkpoint.spec.offers("continues"):
        raise NoAttentionMatrix(
            f"{checkpoint.spec.name} has no causal self-attention to measure; induction is measured on decoders."
        )
    sums = HeadSums()
    for ids in repeated(checkpoint, examples, seed):
        read = trace_of(one_text(checkpoint, describe(checkpoint.tokenizer, ids.tolist()))).own
        tokens = tuple(str(i) for i in ids)
        sums.add(replace(read, query_tokens=tokens, key_tokens=tokens))
    scores = sums.scores()
    return HeadScores({"induction": scores.grids["induction"]}, {"induction": scores.rows["induction"]})


def repeated(checkpoint: Checkpoint, examples: int, seed: int) -> NDArray[np.int64]:
    """(examples, tokens): the start token where there is one, then the same random tokens :data:`REPEATS` times."""
    tokenizer = checkpoint.tokenizer
    start = [] if tokenizer.bos_token_id is None else [int(tokenizer.bos_token_id)]
    size, special = len(tokenizer), set(tokenizer.all_special_ids)
    ordinary = sorted(set(range(size // 4, 3 * size // 4)) - special)
    if size - len(special) <= BYTES:
        ordinary = [i for i in range(size) if (letter := tokenizer.decode([i])).isascii() and letter.isalpha()]
    room = (max_tokens(checkpoint) or 1_000_000) - len(start)
    length = min(LENGTH, room // REPEATS, len(ordinary))
    random = np.random.default_rng(seed)
    drawn = [random.choice(ordinary, length, replace=False).tolist() for _ in range(examples)]
    return np.array([start + REPEATS * tokens for tokens in drawn], dtype=np.int64)


def relation_rows(treebank: str, counts: Iterable[RelationCounts]) -> Iterator[CsvRow]:
    """The rows of ``SLUG.csv``: every head."""
    for entry in counts:
        for (layer, head), right in _cells(entry.right):
            yield (
                *(treebank, entry.relation, entry.direction, layer, head),
                *(entry.n, int(right), entry.offset, entry.baseline_right),
            )


def role_rows(treebank: str, head_scores: HeadScores) -> Iterator[CsvRow]:
    """The rows of ``roles/SLUG.csv``."""
    for role, grid in head_scores.grids.items():
        for (layer, head), mean in _cells(grid):
            yield (treebank, role, layer, head, head_scores.rows[role], f"{mean:.4f}")


def _cells(grid: Any) -> Iterator[tuple[tuple[int, int], Any]]:
    for (layer, head), value in np.ndenumerate(grid):
        yield (layer + 1, head + 1), value


def write_rows(path: Path, columns: Sequence[str], rows: Iterable[CsvRow]) -> None:
    """Write ``rows`` to a tidy file, replacing those of the same treebanks; the file is replaced atomically.

    Raises:
        AtlasError: the existing file has other columns, or the path is not writable.
    """
    new = [[str(value) for value in row] for row in rows]
    replaced = {row[0] for row in new}
    try:
        other_rows: list[list[str]] = []
        if path.is_file():
            with path.open(encoding="utf-8", newline="") as file:
                header, *other_rows = [*csv.reader(file)] or [[]]
            if header != list(columns):
                raise AtlasError(f"{path} is there already, with other columns; move it away or name another folder.")
        other_rows = [row for row in other_rows if row[0] not in replaced]
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(path.name + ".new")
        with beside.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerows([columns, *other_rows, *new])
        beside.replace(path)
    except OSError as error:
        raise AtlasError(f"{path} could not be written: {error.strerror}.") from None


def table(counts: Iterable[RelationCounts]) -> str:
    """The best head of each relation, as lines to print."""
    lines = [f"{'relation':12} {'n':>6}  {'head':>6}  {'right':>6}  {'95%':>11}  {'fixed distance':>14}  direction"]
    for relation, entry in better_directions(counts).items():
        (layer, head), (low, high) = entry.best, entry.interval
        lines.append(
            f"{relation:12} {entry.n:6,}  {layer + 1:>3}-{head + 1:<2}  {entry.accuracy:6.1%}  {low:5.1%}-{high:5.1%}  "
            f"{entry.baseline:6.1%} ({entry.offset:+d})  {entry.direction}"
        )
    return "\n".join(lines)


def cli_heads(
    slugs: Sequence[str], treebank: Path | None, sentences: int | None, output: Path | None, together: str | None = None
) -> None:
    """Measure models over treebanks, print the best heads and write all counts.

    Each file of a folder is a treebank; with ``together`` all are one treebank of that name. At most ``sentences`` are
    read from each file.

    Raises:
        AtlasError: a model or a treebank is missing or unusable.
    """
    from tqdm import tqdm  # type: ignore[import-untyped]

    paths = treebanks.files(treebank or treebanks.SHIPPED)
    specs = [checkpoints.get(slug) for slug in slugs]
    banks = {together: paths} if together else {path.stem: [path] for path in paths}
    folder = output or OUTPUT
    for spec in specs:
        checkpoint = checkpoints.load(spec.slug)
        rows: list[CsvRow] = []
        roles: list[CsvRow] = []
        for name, files in banks.items():
            total = sum(min(treebanks.count(path), sentences or 10**9) for path in files)
            read = chain.from_iterable(islice(treebanks.read_treebank(path), sentences) for path in files)
            measured = measure(checkpoint, tqdm(read, f"{spec.slug}, {name}", total, disable=None))
            rows.extend(relation_rows(name, measured.relations))
            roles.extend(role_rows(name, measured.roles))
            for kind, other in measured.others.items():
                roles.extend(role_rows(f"{name}, {kind}", other))
            print(f"{spec.slug} over {name}: {measured.sentences:,} sentences", end="")
            print(f", {measured.skipped:,} left out because they are too long or unreadable" * bool(measured.skipped))
            if measured.causal:
                print("It attends to the left only, so links to the right are not scored.")
            print(table(measured.relations), end="\n\n")
        if spec.offers("continues"):
            roles.extend(role_rows(RANDOM, induction(checkpoint)))
        write_rows(folder / f"{spec.slug}.csv", RELATION_COLUMNS, rows)
        write_rows(folder / "roles" / f"{spec.slug}.csv", ROLE_COLUMNS, roles)
        print(f"Written to {folder / spec.slug}.csv", flush=True)
