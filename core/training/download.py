"""A trained model as a file: a zip of the folder that `save_pretrained` writes, with a README."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

from core.settings import ASSETS
from core.training.setup import Objective, Units
from core.training.train import Training

FOLDER = "trained-model"
"""The folder in the zip."""
_DATE = (1980, 1, 1, 0, 0, 0)
_OBJECTIVES: dict[Objective, tuple[str, str]] = {
    "next": ("next-token prediction", "AutoModelForCausalLM"),
    "masked": ("masked tokens", "AutoModelForMaskedLM"),
    "spans": ("masked spans", "AutoModelForSeq2SeqLM"),
}
_UNITS: dict[Units, str] = {"characters": "characters", "bytes": "bytes", "bpe": "byte-level BPE learned on the text"}


def zipped(training: Training) -> bytes:
    """The model as it is now, its tokenizer, and how it was trained; the same training gives the same bytes."""
    file = io.BytesIO()
    with TemporaryDirectory() as folder, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        training.model.save_pretrained(folder)
        training.tokenizer.save_pretrained(folder)
        (Path(folder) / "README.txt").write_text(_readme(training), encoding="utf-8")
        for path in sorted(Path(folder).iterdir()):
            archive.writestr(zipfile.ZipInfo(f"{FOLDER}/{path.name}", _DATE), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return file.getvalue()


def _readme(training: Training) -> str:
    setup, points = training.setup, training.points
    objective, auto = _OBJECTIVES[setup.objective]
    rates = ", then ".join(f"{rate:g}" for rate in dict.fromkeys(point.rate for point in points))
    return (
        (ASSETS / "training" / "README.txt")
        .read_text(encoding="utf-8")
        .format(
            architecture=training.model.config.model_type,
            parameters=training.parameters,
            layers=setup.layers,
            heads=setup.heads,
            width=setup.width,
            context=setup.context,
            entries=training.entries,
            units=_UNITS[setup.units],
            objective=objective,
            train=training.corpus.size,
            lines=len(training.corpus.train),
            steps=training.step,
            rates=rates,
            seed=setup.seed,
            loss=points[-1].held_out,
            auto=auto,
            folder=FOLDER,
        )
    )
