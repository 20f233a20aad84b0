"""The command line: ``python -m core doctor | check | fetch | tree | train | evaluate | heads | ...``.

Every command imports what it needs when it runs, so that help is quick.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from core.errors import AtlasError

app = typer.Typer(
    help="Transformer Atlas: check an installation; fetch, train and evaluate models.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.command()
def doctor(
    load: Annotated[bool, typer.Option(help="Also load every model that is ready.")] = False,
) -> None:
    """Print what this installation can do; exit status 1 if a requirement is missing."""
    from core.doctor import examine
    from core.ui.section import pages

    pages()  # a lesson's views are links of pages
    report = examine(load)
    print(report.text())
    if report.problems:
        raise typer.Exit(1)


@app.command()
def check(
    lessons: Annotated[
        list[Path] | None, typer.Argument(help="Files of lessons; without any: settings, texts, lessons, models.")
    ] = None,
) -> None:
    """List what is wrong with settings, texts, lessons and models, and nothing else; exit status 1 if anything is."""
    from core.doctor import check_lesson, examine
    from core.ui.section import pages

    pages()  # a lesson's views are links of pages
    problems = [problem for path in lessons if (problem := check_lesson(path))] if lessons else examine().problems
    print("\n".join(problems) or "No problems.")
    if problems:
        raise typer.Exit(1)


@app.command()
def fetch(
    names: Annotated[list[str], typer.Argument(help="Published checkpoints, for example bert-base-uncased.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before downloading.")] = False,
) -> None:
    """Download published checkpoints, which then run without a network."""
    from core.checkpoints import hub, registry

    published = {spec.slug: spec for spec in registry.published()}
    published |= {spec.location: spec for spec in published.values()}
    unknown = [name for name in names if name not in published]
    if unknown:
        slugs = ", ".join(name for name in published if "/" not in name)
        raise AtlasError(f"The catalogue has no published checkpoint “{unknown[0]}”. It has: {slugs}.")
    for name in names:
        spec = published[name]
        if spec.ready:
            print(f"{spec.slug} is downloaded already.")
            continue
        stated = hub.plan(spec, by_host=True)
        print(f"{spec.slug}: {stated.missing_bytes / 1e6:,.1f} MB from the Hugging Face Hub ({spec.location}).")
        if not yes and sys.stdin.isatty() and not typer.confirm("Download?", default=True):
            continue
        with typer.progressbar(length=stated.total_bytes, label=spec.slug) as bar:

            def on_bytes(done: int, total: int, bar: object = bar) -> None:
                bar.update(done - bar.pos)  # type: ignore[attr-defined]

            folder = hub.fetch(spec, on_bytes, by_host=True)
        print(f"{spec.slug} is in {folder}")


@app.command()
def tree(
    system: Annotated[str | None, typer.Argument(help="A system of the catalogue, for example bert.")] = None,
    size: Annotated[str | None, typer.Option(help="A published size; by default the first on its page.")] = None,
    write: Annotated[bool, typer.Option("--write", help="Recompute and store the trees of all systems.")] = False,
) -> None:
    """Print a system's module tree as torch prints it."""
    from core.anatomy import store

    if write:
        for slug, counts in store.write_all().items():
            print(slug, ", ".join(f"{name}: {count:,}" for name, count in counts.items()))
        from core.costs import shape as shapes

        print(f"shapes: {shapes.write_all()}")
        return
    if system is None:
        raise AtlasError("Name a system, for example “python -m core tree bert”, or give --write.")
    node = store.tree(system, size)
    print(node.text())
    print(f"{node.parameters:,} parameters; shared weights count once")


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
    from core.training import train as training

    print(training.train(recipe, corpus, minutes=minutes, threads=threads, output=output, fresh=fresh))


@app.command()
def vocabulary(
    corpus: Annotated[Path, typer.Option(help="The folder of the corpus.")],
) -> None:
    """Train the plain BPE tokenizer that pages compare with those of the models."""
    from core.training.tokenizers import write_plain_bpe

    print(write_plain_bpe(corpus))


@app.command()
def clip() -> None:
    """Train and measure the tiny CLIP of assets/clip on shapes that it draws."""
    from core.training.clip import cli_clip

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
    from core.training.evaluate import cli_evaluate

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
    from core.attention.roles.headroles import cli_heads

    cli_heads(slugs, treebank, sentences, output, together)


@app.command()
def compression(
    slugs: Annotated[list[str] | None, typer.Argument(help="Live models; those stored by default.")] = None,
    times: Annotated[bool, typer.Option(help="Measure the times alone, and keep the rest.")] = False,
) -> None:
    """Prune, shorten and quantize live models, and store what each recipe costs and saves."""
    from core.efficiency.compress import cli_compression

    cli_compression(slugs or [], times=times)


@app.command("fine-tuning")
def fine_tuning(
    slugs: Annotated[list[str], typer.Argument(help="Live models, for example atlas-bert atlas-gpt-2.")],
) -> None:
    """Measure the learning curves of the ready sets, and store them and the runs that the page opens with."""
    from core.finetuning.curve import cli_fine_tuning

    cli_fine_tuning(slugs)


@app.command()
def effects(
    slugs: Annotated[list[str], typer.Argument(help="Checkpoints, for example minilm.", metavar="SLUG...")],
    output: Annotated[Path | None, typer.Option(help="Output folder instead of assets/headroles.")] = None,
) -> None:
    """Measure the effect of ablating each attention head: the loss in bits over a fixed set of texts."""
    from core.attention.ablation.effects import cli_effects

    cli_effects(slugs, output)


@app.command()
def vectors(
    slugs: Annotated[list[str], typer.Argument(help="Checkpoints, for example minilm.", metavar="SLUG...")],
    output: Annotated[Path | None, typer.Option(help="Output folder instead of assets/vectors.")] = None,
) -> None:
    """Measure a model's vectors: how contextual each layer is, and the layer weights of probing tasks."""
    from core.vectors.precomputed import cli_vectors

    cli_vectors(slugs, output)


@app.command()
def serve(
    replicas: Annotated[int, typer.Option(help="Processes with models of their own.", min=1)] = 1,
    most: Annotated[int, typer.Option(help="Replicas while requests wait; 0: as many as --replicas.", min=0)] = 0,
    cpus: Annotated[float, typer.Option(help="Processors that Ray reserves for a replica.", min=0.1)] = 1.0,
    batch: Annotated[int, typer.Option(help="Masked texts that share a forward pass; 1: none.", min=1, max=64)] = 8,
    wait: Annotated[float, typer.Option(help="Milliseconds that a masked text waits for others.", min=0.0)] = 5.0,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port of ATLAS_ENGINE_URL.", min=1, max=65_535)] = 8000,
    address: Annotated[str | None, typer.Option(help="A Ray cluster to join, or “auto”; by default a new one.")] = None,
) -> None:
    """Compute what models do for apps with ATLAS_ENGINE=ray, by Ray Serve (requirements-ray.txt)."""
    import signal

    from core.engine.server import deploy

    deploy(
        replicas=replicas,
        most=most,
        cpus=cpus,
        batch=batch,
        wait=wait / 1000,
        host=host,
        port=port,
        address=address,
    )
    print(f"The engine answers on {host}:{port}.", flush=True)
    signal.sigwait({signal.SIGINT, signal.SIGTERM})


@app.command()
def lengths(
    output: Annotated[Path | None, typer.Option(help="The file instead of assets/measured/lengths.csv.")] = None,
    flex: Annotated[bool, typer.Option(help="Also flex_attention, which compiles for each length.")] = True,
) -> None:
    """Measure one attention head, full and sparse, from 128 to 8,192 tokens on this machine."""
    from core.efficiency import lengths as measured

    rows: list[measured.Row] = []
    for batch in measured.measure(kinds=tuple(measured.KINDS) if flex else measured.HERE):
        rows += batch
        print(
            *(f"{row.kind} {row.tokens:,} tokens: {1000 * row.seconds:.2f} ms" for row in batch), sep="\n", flush=True
        )
    measured.write(rows, output or measured.FILE)


@app.command()
def duplication(
    seeds: Annotated[int, typer.Option(help="Runs of each setting.", min=1)] = 3,
) -> None:
    """Train a one-layer Reformer on the duplication task by rounds of hashing; add what assets/measured lacks."""
    from core.training.duplication import cli_duplication

    cli_duplication(seeds)


@app.command()
def facts(
    corpus: Annotated[Path, typer.Option(help="The folder of the corpus.")],
    seeds: Annotated[int, typer.Option(help="Runs of each setting.", min=1)] = 1,
) -> None:
    """Train small models to answer from far facts, by attention pattern; add what assets/measured lacks."""
    from core.training.facts import cli_facts

    cli_facts(corpus, seeds)


@app.command()
def sweep(
    name: Annotated[str, typer.Argument(help="distillation, widths, pretraining, scaling, batches or noise.")],
    corpus: Annotated[Path, typer.Option(help="The folder of the corpus.")],
    seeds: Annotated[int, typer.Option(help="Runs of each setting.", min=1)] = 5,
) -> None:
    """Train students, adapters and LoRA, encoders by objective, or decoders by size, text, batch and rate; add what
    assets/measured lacks."""
    from core.training.sweeps import cli_sweep

    cli_sweep(name, corpus, seeds)


@app.command("parallel-demo")
def parallel_demo(
    processes: Annotated[int, typer.Option(help="Processes, each with a share of the layer.", min=2, max=8)] = 2,
    layer: Annotated[int, typer.Option(help="The layer, from 1.", min=1)] = 1,
    text: Annotated[str, typer.Option(help="The text that the layer reads.")] = "Once upon a time there was a king.",
    model: Annotated[str, typer.Option(help="A live model with one stack, such as atlas-llama.")] = "",
) -> None:
    """Compute a layer in several processes that exchange their sums by torch.distributed (tensor parallelism)."""
    from core import checkpoints
    from core.efficiency.parallel import run_demo

    print(run_demo(model or checkpoints.first("parallel")[0], text, layer - 1, processes))


@app.command()
def bench(
    names: Annotated[list[str] | None, typer.Argument(help="Scripts of benchmarks/; all by default.")] = None,
) -> None:
    """Run the benchmarks: speed against the usual alternatives."""
    import subprocess

    from core.settings import ROOT

    scripts = {path.stem: path for path in sorted((ROOT / "benchmarks").glob("*.py")) if not path.stem.startswith("_")}
    unknown = [name for name in names or () if name not in scripts]
    if unknown or not scripts:
        raise AtlasError(f"There is no benchmark “{' '.join(unknown)}”. There are: {', '.join(scripts) or 'none'}.")
    failed = False
    for name in names or scripts:
        print(f"== {name}", flush=True)
        failed |= subprocess.run([sys.executable, str(scripts[name])], cwd=ROOT, check=False).returncode != 0  # noqa: S603
    if failed:
        raise typer.Exit(1)


def main() -> None:
    """Run the command line; an :class:`AtlasError` or a file's error prints its message and exits with status 1."""
    try:
        app()
    except AtlasError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    except OSError as error:  # a full disk, a folder that nothing may be written to
        print(f"{error.filename or 'A file'} cannot be read or written: {error.strerror or error}.", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
