"""The zip of a trained model: the Atlas opens it from a folder, and transformers does."""

from __future__ import annotations

import io
import itertools
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from core import checkpoints
from core.training.download import FOLDER, zipped
from core.training.ready import ready
from core.training.setup import Objective, Setup, Units
from core.training.text import split
from core.training.train import EVERY, Training
from tests.unit.test_training_train import OBJECTIVES, SMALL, UNITS

TEXT = "The fox said hello to Zoë."


def trained(objective: Objective, units: Units) -> Training:
    training = Training(split(ready("stories")[:10_000]), Setup(objective, units, **SMALL))  # type: ignore[arg-type]
    list(training.run(EVERY, 0.01))
    return training


@pytest.mark.parametrize(("objective", "units"), itertools.product(OBJECTIVES, UNITS))
def test_the_zip_has_the_model_for_the_atlas_and_for_transformers(
    objective: Objective, units: Units, tmp_path: Path, use_checkpoints: Callable[[Path], None]
) -> None:
    training = trained(objective, units)
    data = zipped(training)
    assert data == zipped(training)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert {Path(name).parent.as_posix() for name in archive.namelist()} == {FOLDER}
        assert {Path(name).suffix for name in archive.namelist()} <= {".json", ".safetensors", ".txt"}
        archive.extractall(tmp_path)
    readme = (tmp_path / FOLDER / "README.txt").read_text(encoding="utf-8")
    assert f"{training.parameters:,} parameters" in readme
    assert f"{training.points[-1].held_out:.3f} bits per byte" in readme

    with torch.no_grad():
        inputs = training.tokenizer(TEXT, return_tensors="pt", return_token_type_ids=False)
        if objective == "spans":
            inputs["decoder_input_ids"] = inputs["input_ids"]
        logits = training.model.eval()(**inputs).logits

        namespace: dict[str, object] = {}
        code = [line.strip() for line in readme.splitlines() if "from_pretrained(" in line]
        imports = next(line.strip() for line in readme.splitlines() if line.strip().startswith("from transformers"))
        exec("\n".join([imports, *code]).replace(f'"{FOLDER}"', repr(str(tmp_path / FOLDER))), namespace)
        model, tokenizer = namespace["model"], namespace["tokenizer"]
        assert isinstance(model, type(training.model))
        again = tokenizer(TEXT, return_tensors="pt", return_token_type_ids=False)["input_ids"]  # type: ignore[operator]
        assert again.tolist() == inputs["input_ids"].tolist()
        torch.testing.assert_close(model.eval()(**inputs).logits, logits, rtol=0, atol=0)

        use_checkpoints(tmp_path)
        opened = checkpoints.load(f"dir-{FOLDER}")
        assert opened.spec.kind == training.setup.kind
        assert opened.tokenizer(TEXT)["input_ids"] == inputs["input_ids"][0].tolist()
        torch.testing.assert_close(opened.model(**inputs).logits, logits, rtol=1e-4, atol=1e-5)
