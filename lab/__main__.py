"""The command line of the laboratory: ``python -m lab train | evaluate | study | heads | effects | ...``.

It makes what stands in ``assets``: models, cards, stored measurements. Every command imports what it needs when it
runs, so that help is quick.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from core.__main__ import run

app = typer.Typer(
    help="The laboratory of Transformer Atlas: train and evaluate models, measure what the pages show.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.command()
def train(
    recipe: Annotated[str, typer.Argument(help="A recipe of assets/recipes, for example minilm.")],
    corpus: Annotated[Path, typer.Option(help="The folder of the corpus.")],
    minutes: Annotated[float | None, typer.Option(help="Training time instead of the recipe's.", min=0.0)] = None,
    threads: Annotated[int | None, typer.Option(help="Threads for torch; all by default.", min=1)] = None,
    output: Annotated[Path | None, typer.Option(help="Output folder instead of assets/checkpoints.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over instead of resuming.")] = False,
) -> None:
    """Train a checkpoint from its recipe; an interrupted run resumes where it stopped."""
    from lab import train as training

    print(training.train(recipe, corpus, minutes=minutes, threads=threads, output=output, fresh=fresh))


@app.command()
def vocabulary(
    corpus: Annotated[Path, typer.Option(help="The folder of the corpus.")],
) -> None:
    """Train the plain BPE tokenizer that pages compare with those of the models."""
    from lab.tokenizers import write_plain_bpe

    print(write_plain_bpe(corpus))


@app.command()
def mappings() -> None:
    """Copy the mappings of the installed transformers from model types to classes."""
    from lab.mappings import write_mappings

    print(write_mappings())


@app.command()
def clip() -> None:
    """Train and measure the tiny CLIP of assets/clip on shapes that it draws."""
    from lab.clip import cli_clip

    cli_clip()


@app.command()
def evaluate(
    slug: Annotated[str, typer.Argument(help="A checkpoint, for example minilm.")],
    corpus: Annotated[
        Path | None,
        typer.Option(help="The corpus, to evaluate on its held-out part, too.", exists=True, file_okay=False),
    ] = None,
) -> None:
    """Evaluate a checkpoint on the held-out texts of the Atlas: the measures of its card."""
    from lab.evaluate import cli_evaluate

    cli_evaluate(slug, corpus)


@app.command()
def heads(
    slugs: Annotated[list[str], typer.Argument(help="Checkpoints, for example minilm.", metavar="SLUG...")],
    treebank: Annotated[
        Path | None, typer.Option(help="A .conllu file or a folder of them; by default the Atlas's own.")
    ] = None,
    together: Annotated[
        str | None, typer.Option(help="Merge a folder's files into one treebank of this name, for example ud-english.")
    ] = None,
    sentences: Annotated[int | None, typer.Option(help="The first N sentences of each file.", min=1)] = None,
    output: Annotated[Path | None, typer.Option(help="Output folder instead of assets/headroles.")] = None,
) -> None:
    """Measure each attention head: agreement with syntactic relations, and weight on fixed positions."""
    from lab.heads import cli_heads

    cli_heads(slugs, treebank, sentences, output, together)


@app.command("fine-tuning")
def fine_tuning() -> None:
    """Fine-tune models on the ready sets, and store the runs that the page Training opens with."""
    from lab.record import write

    write()


@app.command()
def home() -> None:
    """Compute and store the masked word that Home opens with."""
    from lab.record import write_home

    write_home()


@app.command()
def scratch(
    names: Annotated[list[str] | None, typer.Argument(help="Ready texts; all by default.", metavar="NAME...")] = None,
) -> None:
    """Store the trainings from random weights that the page Training opens with."""
    from lab.scratch import write

    write(names)


@app.command("changed")
def changed_texts(
    arms: Annotated[list[str] | None, typer.Argument(help="Those to train, such as moss-0.", metavar="ARM...")] = None,
) -> None:
    """Train models on the stories with one thing changed, or compare those that are trained and store the result."""
    from lab.changed import measure, train

    train(arms) if arms else measure()


@app.command()
def effects(
    slugs: Annotated[list[str], typer.Argument(help="Checkpoints, for example minilm.", metavar="SLUG...")],
    output: Annotated[Path | None, typer.Option(help="Output folder instead of assets/headroles.")] = None,
) -> None:
    """Measure the effect of ablating each attention head: the loss in bits over a fixed set of texts."""
    from lab.effects import cli_effects

    cli_effects(slugs, output)


@app.command()
def vectors(
    slugs: Annotated[list[str], typer.Argument(help="Checkpoints, for example minilm.", metavar="SLUG...")],
    output: Annotated[Path | None, typer.Option(help="Output folder instead of assets/vectors.")] = None,
) -> None:
    """Measure a model's vectors: how contextual each layer is, and of ELMo the layer weights of probing tasks."""
    from lab.vectors import cli_vectors

    cli_vectors(slugs, output)


@app.command()
def probes(
    slugs: Annotated[
        list[str] | None, typer.Argument(help="Checkpoints, for example minilm; by default all.", metavar="[SLUG]...")
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Output folder instead of assets/probing.")] = None,
) -> None:
    """Train linear probes of each layer: parts of speech, distance to the head, word identity, and control tasks."""
    from lab.probes import cli_probes

    cli_probes(slugs or [], output)


@app.command()
def features(
    slug: Annotated[str, typer.Argument(help="A decoder of whole books, for example atlas-gpt-2.")],
    corpus: Annotated[Path, typer.Option(help="The folder of the corpus.", exists=True, file_okay=False)],
    output: Annotated[Path | None, typer.Option(help="Output folder instead of assets/features.")] = None,
) -> None:
    """Train a sparse autoencoder of what a layer leaves, and measure it: features, their top texts, and the loss."""
    from lab.features import cli_features

    cli_features(slug, corpus, output)


@app.command()
def study(
    name: Annotated[
        str | None, typer.Argument(help="A study of the page Experiments; without one, all are listed.")
    ] = None,
    corpus: Annotated[
        Path | None,
        typer.Option(help="The folder of the corpus, where the study needs it.", exists=True, file_okay=False),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(help="Runs of each setting; those of the page by default.", min=1)
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="The table instead of var/studies/NAME.csv; what it lacks is measured.")
    ] = None,
) -> None:
    """Repeat a study: measure its rows on this machine. A killed run goes on where it stopped."""
    from core import studies

    if name is None:
        for listed in map(studies.get, studies.names()):
            print(f"{listed.command:<50}  {listed.claim}")
        return
    from lab.studies import repeat

    print(repeat(name, corpus, seeds, output))


@app.command()
def trees() -> None:
    """Recompute and store the module trees and shapes of all systems."""
    from lab.trees import write_all, write_shapes

    for slug, counts in write_all().items():
        print(slug, ", ".join(f"{name}: {count:,}" for name, count in counts.items()))
    print(f"shapes: {write_shapes()}")


if __name__ == "__main__":
    run(app)
