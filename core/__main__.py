"""The command line of the app: ``python -m core doctor | check | fetch | tree | serve | bench | ...``.

Every command imports what it needs when it runs, so that help is quick. What makes models and stored measurements is
``python -m lab``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from core.errors import AtlasError

app = typer.Typer(
    help="Transformer Atlas: check an installation, fetch models, serve them.",
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
    system: Annotated[str, typer.Argument(help="A system of the catalogue, for example bert.")],
    size: Annotated[str | None, typer.Option(help="A published size; by default the first on its page.")] = None,
) -> None:
    """Print a system's module tree as torch prints it."""
    from core.anatomy import store

    node = store.tree(system, size)
    print(node.text())
    print(f"{node.parameters:,} parameters; shared weights count once")


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


def run(commands: typer.Typer) -> None:
    """Run a command line; an :class:`AtlasError` or a file's error prints its message and exits with status 1."""
    try:
        commands()
    except AtlasError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    except OSError as error:  # a full disk, a folder that nothing may be written to
        print(f"{error.filename or 'A file'} cannot be read or written: {error.strerror or error}.", file=sys.stderr)
        sys.exit(1)


MOVED = dict.fromkeys(("compression", "duplication", "facts", "lengths", "sweep"), "study") | {
    name: name for name in ("train", "vocabulary", "clip", "evaluate", "heads", "fine-tuning", "effects", "vectors")
}
"""The commands of the laboratory that were here, and their names there."""


def main() -> None:
    """Run the command line of the app."""
    if (name := next(iter(sys.argv[1:]), "")) in MOVED:
        print(f"“python -m core {name}” is “python -m lab {MOVED[name]}” now.", file=sys.stderr)
        sys.exit(1)
    run(app)


if __name__ == "__main__":
    main()
