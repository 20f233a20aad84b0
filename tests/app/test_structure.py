"""Pages of single systems: each runs its own objective, a relative, or says what there is in place of attention."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from core import catalogue, checkpoints
from core.language import structure
from core.language.fill_mask import prepare
from core.ui.section import pages
from core.vectors import precomputed
from tests.pages import FEW, described, opened, shown, widget
from tests.words import words


@pytest.mark.parametrize(
    ("page", "system", "label", "figures", "card"),
    [
        ("encoder", "elmo", "Sentence", ("From the left", "From the right", "Both language models"), "Atlas ELMo"),
        ("encoder", "spanbert", "Sentence", ("from the boundaries", "from its own state"), "Atlas BERT, spans"),
        ("encoder", "structbert", "Sentence", ("trained with it", "B comes before A"), "Atlas BERT, orders"),
        ("encoder-decoder", "unilm", "Second text", ("Left to right, trained with it",), "Atlas BERT, attention masks"),
    ],
)
def test_the_page_of_a_system_runs_its_objective(
    page: str, system: str, label: str, figures: tuple[str, ...], card: str
) -> None:
    at = opened(page, system=system)
    assert not at.error
    before = described(at)
    assert all(name in before for name in figures)
    assert f"About this model: {card}" in " ".join(expander.label for expander in at.expander)
    assert "Measured quality" in shown(at)
    assert "{{" not in shown(at)
    widget([*at.text_area, *at.text_input], label).set_value("My sister reads a book in the garden.").run()
    assert described(at) != before
    covered = opened(page, system=system, cover="yes")
    assert not any(name in described(covered) for name in figures)


def test_the_scalar_mix_opens_with_elmos_own_layers() -> None:
    at = opened("vectors", tab="mix")  # where it was
    assert widget(at.selectbox, "Demo").value == "mix"
    assert "Atlas ELMo" in shown(at)
    assert len(at.slider) >= 3
    weights = {task: mix.weights for task, mix in precomputed.learned_mixes().items()}
    assert weights["speech"].index(max(weights["speech"])) == 1
    assert weights["topic"].index(max(weights["topic"])) == 2


def test_a_span_is_predicted_from_the_token_on_each_side() -> None:
    part = checkpoints.load("atlas-bert", "spans")
    text, positions = "My sister reads a long book in the garden.", (3, 4, 6)
    masked = prepare(part, text, positions)
    bert, head = part.model.bert, part.model.boundary
    with torch.inference_mode():
        states = bert(torch.tensor([masked.ids])).last_hidden_state[0]
        for mask_prediction, (left, right, distance) in zip(
            structure.from_boundaries(part, text, 1, positions), [(2, 5, 1), (2, 5, 2), (5, 7, 1)], strict=True
        ):
            y = head.layers(torch.cat([states[left], states[right], head.distances.weight[distance - 1]]))
            chances = part.model.cls.predictions.decoder(y).softmax(-1)
            assert mask_prediction.ids == (int(chances.argmax()),)
            assert mask_prediction.probabilities[0] == pytest.approx(float(chances.max()), rel=1e-4)


@pytest.mark.parametrize(
    ("first", "second", "changes"),
    [
        ("The dog sees a bird.", "It runs to the garden.", {"both", "left", "seq2seq"}),
        ("The dog sees a cat.", "It runs to the house.", {"both"}),
        ("The dog sees a cat.", "He runs to the garden.", {"both", "left", "seq2seq"}),
        ("The dog sees a cat.", "It runs on the garden.", set()),
    ],
)
def test_a_masked_word_depends_on_what_its_attention_mask_shows(first: str, second: str, changes: set[str]) -> None:
    part = checkpoints.load("atlas-bert", "unified")
    before = structure.under_masks(part, "The dog sees a cat.", "It runs to the garden.", 2, 1)
    after = structure.under_masks(part, first, second, 2, 1)
    assert {k for k in before if before[k].probabilities != pytest.approx(after[k].probabilities, rel=1e-3)} == changes
    assert len({entry.probabilities for entry in before.values()}) == len(structure.KINDS)


def test_shuffled_tokens_are_put_right_by_their_probabilities_at_their_places() -> None:
    part = checkpoints.load("atlas-bert", "orders")
    tokens = prepare(part, "My sister reads a long book.").tokens
    orders = structure.put_right(part, tokens, 2, 0)
    pieces = [token.piece for token in tokens[2:5]]
    assert sorted(orders.read.split()) == sorted(pieces)
    assert orders.read.split() != pieces
    assert orders.tokens[orders.right].split() == pieces
    assert len({*orders.tokens}) == 6
    assert sum(orders.probabilities) == pytest.approx(1)
    ids = [token.id for token in tokens]
    piece_ids = dict(zip(pieces, ids[2:5], strict=True))
    ids[2:5] = [piece_ids[piece] for piece in orders.read.split()]
    with torch.inference_mode():
        logs = part.model(torch.tensor([ids])).prediction_logits[0, 2:5].log_softmax(-1)
    first, last = (
        sum(float(logs[at, piece_ids[p]]) for at, p in enumerate(order.split())) for order in orders.tokens[::5]
    )
    assert first - last == pytest.approx(float(np.log(orders.probabilities[0] / orders.probabilities[5])), abs=1e-3)


def test_each_order_is_read_with_the_tokens_near_it_masked_one_by_one() -> None:
    part = checkpoints.load("atlas-bert", "orders")
    tokens = prepare(part, "My sister reads a long book in the garden.").tokens
    orders = structure.put_right(part, tokens, 2, 0, each=True)
    piece_ids = {token.piece: token.id for token in tokens[2:5]}
    assert orders.tokens[orders.right].split() == list(piece_ids)

    def score(order: str) -> float:
        ids = torch.tensor([token.id for token in tokens])
        ids[2:5] = torch.tensor([piece_ids[piece] for piece in order.split()])
        rows = ids.repeat(7, 1)
        at = torch.arange(1, 8)  # [CLS] is never masked
        rows[at - 1, at] = int(part.tokenizer.mask_token_id or 0)
        with torch.inference_mode():
            logs = part.model(rows).prediction_logits.log_softmax(-1)
        return float(logs[at - 1, at, ids[at]].sum())

    first, last = (score(order) for order in orders.tokens[::5])
    assert first - last == pytest.approx(float(np.log(orders.probabilities[0] / orders.probabilities[5])), abs=1e-3)


def test_two_texts_are_read_as_two_segments() -> None:
    part = checkpoints.load("atlas-bert", "orders")
    texts = "The king had three sons.", "The youngest of them went into the forest."
    encoded = part.tokenizer(*texts, return_tensors="pt")
    with torch.inference_mode():
        expected = part.model(**encoded).seq_relationship_logits[0].softmax(-1).tolist()
    assert structure.three_orders(part, *texts) == pytest.approx(expected, abs=1e-5)
    assert structure.three_orders(part, *texts[::-1]) != pytest.approx(expected, abs=1e-3)


def test_images_captions_and_classes_are_drawn_and_the_prompt_changes_the_answer() -> None:
    at = opened("encoder", system="clip")
    assert not at.error
    assert "Cosines of captions and images" in shown(at)
    before = described(at)
    assert "Zero-shot classes of the image: circle" in before
    widget(at.text_input, "Prompt with {}").set_value("{}").run()
    assert described(at) != before
    assert "Accuracy by prompt" in shown(at)
    new = described(opened("encoder", system="clip", pairs="new"))
    assert "a picture of a red circle: 98.8%, 97.9%" in new


def test_own_words_are_classes_and_an_unknown_one_gets_a_sentence() -> None:
    at = opened("encoder", system="clip", classes="own", own="red ring, gray ring")
    assert "red ring" in described(at)
    widget(at.text_input, "Classes, separated by commas").set_value("red ring, dog").run()
    assert "has the word “dog”" in shown(at)
    assert "Cosines of captions and images" in shown(at)


@pytest.mark.parametrize("text", FEW.values(), ids=FEW)
def test_strange_classes_and_prompts_get_a_sentence(text: str) -> None:
    for query in ({"own": text}, {"prompt": text}):
        assert not opened("encoder", system="clip", classes="own", **query).exception


def test_a_guess_comes_first_and_old_links_open_the_model_that_they_name() -> None:
    at = opened("encoder", system="clip", cover="yes")
    assert "Zero-shot classes of the image: circle" not in described(at)
    at = opened("encoder", system="clip", model="minilm")
    assert "MiniLM" in shown(at)


def test_a_model_with_a_study_links_to_it() -> None:
    def linked(at: AppTest) -> list[str]:
        return [link.proto.query_string for link in at.get("page_link") if link.proto.page == "experiments"]

    assert linked(opened("encoder-decoder", system="bert2bert")) == ["tab=warm-start"]
    assert linked(opened("encoder-decoder", model="atlas-t5")) == []


def captions(at: AppTest) -> str:
    return "\n".join(words(str(element.value)) for element in at.caption)


@pytest.mark.parametrize("slug", ["ernie-2.0", "mistral"])
def test_the_demo_says_what_runs_instead(slug: str) -> None:
    at = opened(catalogue.get(slug).branch, system=slug)
    assert not at.error
    live = catalogue.get(slug).live
    assert at.selectbox[1].value == live.checkpoint
    assert live.note in captions(at)


def test_where_the_system_itself_runs_nothing_is_said_of_relatives() -> None:
    at = opened("encoder", system="roberta")
    assert catalogue.get("roberta").live.note not in captions(at)


def test_a_tree_without_attention_is_not_measured_by_it() -> None:
    said = captions(opened("encoder", system="elmo", tab="tree"))
    assert "93,600,868" in said
    assert "there is no attention here, and the embeddings are 19.3% of all parameters" in said
    assert "times what attention holds" not in said


def test_a_link_that_names_a_model_shows_its_system() -> None:
    at = opened("encoder", model="atlas-albert", facts="open")
    assert [box.value for box in at.selectbox[:2]] == ["albert", "atlas-albert"]
    at.segmented_control[0].set_value("demo").run()
    assert [box.value for box in at.selectbox[:2]] == ["albert", "atlas-albert"]


def test_a_model_of_another_system_is_called_that_and_its_link_names_both() -> None:
    at = opened("encoder", system="bert")
    assert "in place of" not in captions(at)
    at.selectbox[1].set_value("atlas-roberta").run()
    assert at.selectbox[0].value == "bert"
    assert "Atlas RoBERTa, a model of the RoBERTa architecture, runs here in place of BERT." in captions(at)
    assert (at.query_params["system"], at.query_params["model"]) == ("bert", "atlas-roberta")
    at.selectbox[0].set_value("albert").run()
    assert at.selectbox[1].value == "atlas-albert"
    assert at.query_params["system"] == "albert"
    assert "model" not in at.query_params


@pytest.mark.parametrize(
    ("branch", "slug", "home"),
    [
        ("efficient", "transformer-xl", "Decoder"),
        ("decoder", "jamba", "Efficient"),
    ],
)
def test_a_system_that_runs_on_another_page_says_so_and_shows_no_demo_of_a_stranger(
    branch: str, slug: str, home: str
) -> None:
    at = opened(branch, system=slug, tab="demo")
    assert at.selectbox[1].value == ""
    assert f"runs on the page {home}" in words(str(at.info[0].value))
    at = opened(branch, system=slug, tab="tree")
    assert not at.info


def test_a_guest_can_still_be_shown_by_a_model_of_the_page() -> None:
    at = opened("efficient", system="albert", model="atlas-reformer")
    assert [box.value for box in at.selectbox[:2]] == ["albert", "atlas-reformer"]
    assert "Atlas Reformer, a model of the Reformer architecture, runs here in place of ALBERT." in captions(at)


INSTEAD = "no attention matrix: Mamba carries a state"


@pytest.fixture(scope="module")
def mamba(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests import tiny

    root = tmp_path_factory.mktemp("without")
    tiny.tiny_mamba(root / "tiny-mamba")
    return root


@pytest.mark.parametrize("section", [entry.slug for entry in pages()["attention"].sections if entry.slug != "roles"])
def test_every_view_of_heads_says_what_mamba_has_instead(
    section: str, mamba: Path, use_checkpoints: Callable[[Path], None]
) -> None:
    use_checkpoints(mamba)
    assert INSTEAD in shown(opened("attention", model="dir-tiny-mamba", tab=section))


def test_the_branch_page_writes_with_mamba_and_says_that_it_has_no_heads(
    mamba: Path, use_checkpoints: Callable[[Path], None]
) -> None:
    use_checkpoints(mamba)
    at = opened("efficient", system="mamba", model="dir-tiny-mamba")
    assert not at.warning
    assert "tokens, each with its probability" in shown(at)
    assert INSTEAD in shown(opened("efficient", system="mamba", model="dir-tiny-mamba", tab="heads"))


@pytest.mark.parametrize("query", [{}, {"size": "</script>", "node": "h.0", "drawing": "sunburst"}])
def test_in_place_of_gpt_4s_tree_stands_a_sentence(query: dict[str, str]) -> None:
    at = opened("decoder", system="gpt-4", tab="tree", **query)
    said = words(at.info[0].value)
    assert catalogue.get("gpt-4").undisclosed in said
    assert not at.get("iframe")
    assert not at.error
    links = [element.proto for element in at.get("page_link")]
    assert any("known tree: GPT-3" in link.label.replace("\\", "") for link in links)


def test_gpt_4s_facts_say_why_there_are_no_sizes_and_mark_the_rumor() -> None:
    at = opened("decoder", system="gpt-4", facts="open")
    tables = " ".join(element.proto.body for element in at.get("html"))
    assert "1.8 trillion (rumor)" in tables
    assert "gives no further details" in shown(at)
    assert "counted by building" not in shown(at)


def test_mambas_tree_is_described_without_attention() -> None:
    said = shown(opened("efficient", system="mamba", tab="tree"))
    assert "there is no attention and no feed-forward block; the mixers have 70.1% of all" in said


def test_a_link_to_the_wrong_page_leads_to_the_right_one() -> None:
    at = opened("decoder", system="mamba", facts="open")
    assert "“System” cannot be “mamba”" in shown(at)
    link = next(element.proto for element in at.get("page_link") if element.proto.page == "efficient")
    assert link.label == "Mamba is on the page Efficient"
    assert not [
        entry for entry in opened("decoder", system="x", facts="open").get("page_link") if "stands" in entry.proto.label
    ]
