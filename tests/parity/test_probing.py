"""The stored probes, applied by hand to the hidden states of transformers' own models."""

from __future__ import annotations

import pytest
import torch
from safetensors.torch import load_file

from core import checkpoints
from core.errors import InputUnusable
from core.vectors.probing import FOLDER, scores, tag
from core.vectors.reading import inputs_of, read_states, readable
from tests.library import library_model

TEXT = "They watch a play and don't play."
WORDS = ("They", "watch", "a", "play", "and", "do", "n't", "play", ".")


@pytest.mark.parametrize("slug", ["minilm", "atlas-gpt-2", "atlas-t5"])
def test_classes_are_those_of_the_states_of_the_library(slug: str) -> None:
    checkpoint = checkpoints.load(slug)
    tagging = tag(read_states(checkpoint, TEXT), slug, "speech")
    assert tagging.words == WORDS
    model = library_model(checkpoint.model)
    part = model.get_encoder() if model.config.is_encoder_decoder else model.base_model
    ids = inputs_of(checkpoint, TEXT).tensors["input_ids"]
    offsets = checkpoint.tokenizer(TEXT, return_offsets_mapping=True)["offset_mapping"]
    prefix = ids.shape[1] - len(offsets)  # the token of T5's task
    with torch.inference_mode():
        states = torch.stack(part(input_ids=ids, output_hidden_states=True).hidden_states)[:, 0]
    probe = load_file(FOLDER / f"{slug}.safetensors")
    end = 0
    for number, word in enumerate(WORDS):
        start = TEXT.index(word, end)
        end = start + len(word)
        pieces = [prefix + at for at, (low, high) in enumerate(offsets) if low < end and high > start]
        vector = states[:, pieces].mean(1)
        vector = (vector - vector.mean(-1, keepdim=True)) / (vector.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
        logits = torch.einsum("lw,lwc->lc", vector, probe["speech.weight"].float()) + probe["speech.bias"][:, 0].float()
        expected = logits.softmax(-1).amax(-1)
        assert torch.allclose(torch.from_numpy(tagging.probabilities[:, number]), expected, atol=1e-3)
    assert tagging.classes[-1][0] == "PRON"
    assert tagging.classes[-1][-1] == "PUNCT"


def test_each_model_with_layers_of_its_own_has_probes() -> None:
    own = [spec.slug for spec in checkpoints.available() if spec.source in ("bundled", "package") and readable(spec)]
    assert len(own) > 20
    below = []
    for slug in own:
        by_task = scores(slug)
        speech = by_task["speech"]
        assert list(by_task) == ["speech", "distance", "identity"]
        assert speech.words == 1563
        best = max(spread.mean for spread in speech.accuracy)
        assert min(best, speech.lookup) > speech.majority
        below += [slug] if best < speech.lookup else []
        assert max(spread.mean for spread in speech.selectivity) > 0.1
        assert by_task["identity"].control == ()
    assert sorted(below) == ["atlas-byt5", "atlas-reformer"]  # whose words are means of characters
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) < 3_000_000


def test_what_one_notices_holds_of_the_stored_probes() -> None:
    specs = [spec for spec in checkpoints.available() if scores(spec.slug)]
    by_slug = {spec.slug: scores(spec.slug) for spec in specs}
    rising = {
        slug for slug, tasks in by_slug.items() if tasks["speech"].control[-1].mean > tasks["speech"].control[0].mean
    }
    assert rising == {"atlas-byt5", "atlas-reformer"}
    distances = {slug: [spread.mean for spread in tasks["distance"].accuracy] for slug, tasks in by_slug.items()}
    assert all(tasks["distance"].selectivity[0].mean < 0 for tasks in by_slug.values())
    encoders = [distances[spec.slug] for spec in specs if spec.family.side == "encoder"]
    decoders = [
        distances[spec.slug] for spec in specs if spec.family.side == "decoder" and "continues" in spec.family.offers
    ]
    assert min(len(encoders), len(decoders)) > 4
    assert all(max(layers) > layers[-1] for layers in encoders)
    assert max(map(max, decoders)) < min(map(max, encoders))


def test_a_model_without_probes_of_its_layers_says_so() -> None:
    reading = read_states(checkpoints.load("minilm"), TEXT)
    with pytest.raises(InputUnusable, match="No probes are stored"):
        tag(reading, "atlas-adapter-bert", "speech")
    with pytest.raises(InputUnusable, match="of other layers"):
        tag(reading, "atlas-bert", "speech")
