"""Every branch page in every section on tiny models, and everything that one can type into it or put into its link."""

import runpy
from pathlib import Path

import pytest

from core.checkpoints.spec import CheckpointSpec
from tests import pages
from tests.pages import opened, shown
from tests.words import words

ROOT = Path(__file__).resolve().parents[2]
BRANCHES = ("encoder", "decoder", "encoder-decoder", "efficient")
MODELS = {
    "encoder": "dir-tiny-bert",
    "decoder": "dir-tiny-gpt2",
    "encoder-decoder": "dir-tiny-t5",
    "efficient": "dir-tiny-bigbird",
}
NASTY = pages.NASTY | {
    "the mask of another model": "the <mask> sat <extra_id_0>",
    "longer than the positions": "the cat sat on the mat " * 60,
}


def demos(spec: CheckpointSpec) -> list[str]:
    """The demos that a model has on its branch's page, the one that it opens with first."""
    every = runpy.run_path(str(ROOT / "pages" / f"{spec.branch}.py"), run_name="page")["DEMOS"]
    return [demo.slug for demo in every if demo.fits(spec)]


@pytest.mark.parametrize("branch", BRANCHES)
@pytest.mark.parametrize("section", ["demo", "tree"])
def test_every_section_opens(branch: str, section: str, checkpoint_dir: Path) -> None:
    at = opened(branch, tab=section, model=MODELS[branch])
    assert not at.error
    assert at.title[0].value
    if section == "demo":  # the page is never empty: the model that it names has run on an example
        assert MODELS[branch] in at.selectbox[1].value
        assert not at.warning
        assert len(at.markdown) > 3


def test_without_any_model_the_page_says_so_and_the_rest_works(monkeypatch: pytest.MonkeyPatch) -> None:
    from core import checkpoints

    monkeypatch.setattr(checkpoints, "for_branch", lambda branch: ())
    for section in ("demo", "tree"):
        at = opened("decoder", tab=section)
        if section != "tree":
            assert "No live model" in at.info[0].value


def test_a_link_that_asks_for_the_impossible_gets_sentences(checkpoint_dir: Path) -> None:
    wrong = {"system": "</script>", "model": "gpt-17", "tab": "attic", "layer": "99999", "seed": "1e9"}
    at = opened("encoder", **wrong, nonsense="1")
    said = " ".join(warning.value for warning in at.warning)
    for name in ("for tab ", "for layer ", "“System” cannot be ", "“Live model” cannot be "):
        assert name in said
    assert "nonsense" in said


def test_another_system_starts_afresh_and_another_section_keeps_the_text(checkpoint_dir: Path) -> None:
    at = opened("encoder", model=MODELS["encoder"])
    at.text_input[0].set_value("the [MASK] sat").run()
    at.segmented_control[0].set_value("tree").run()
    at.segmented_control[0].set_value("demo").run()
    assert at.text_input[0].value == "the [MASK] sat"


@pytest.mark.parametrize(
    ("query", "title", "chip"),
    [
        ({"system": "roberta"}, "Encoder: RoBERTa", ""),
        ({"system": "xlm-r"}, "Encoder: XLM-R", "runs here: Atlas XLM, a stand-in"),
        ({"system": "roberta", "model": "atlas-albert"}, "Encoder: RoBERTa", "runs here: Atlas ALBERT, a stand-in"),
    ],
)
def test_the_title_names_the_system_and_a_chip_the_model_that_stands_in(
    query: dict[str, str], title: str, chip: str
) -> None:
    at = opened("encoder", facts="open", **query)
    assert words(at.title[0].value) == title
    chips = [words(one.value) for one in at.markdown if "runs here" in one.value]
    assert len(chips) == bool(chip)
    assert chip in "".join(chips)


def test_a_module_that_the_tree_lacks_is_named() -> None:
    at = opened("encoder", tab="tree", node="foo.bar")
    assert "This tree has no module “foo.bar”" in words(at.warning[0].value)


def test_a_text_whose_words_are_split_often_is_said_to_be_no_english() -> None:
    note = "its vocabulary was learned from English"
    assert note in shown(opened("encoder", text="Die Hauptstadt von Frankreich ist [MASK]."))
    assert note not in shown(opened("encoder"))
