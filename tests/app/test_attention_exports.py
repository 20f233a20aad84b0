"""Every picture of the page Attention can be downloaded, with its own table, which travels only when asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from core.ui import export
from tests.app.test_attention_page import page

BERT = {"model": "dir-tiny-bert", "text": "The cat sat."}
PICTURES: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "one head": (
        {**BERT, "view": "table"},
        {"heads.dir-tiny-bert.encoder.all": "layer,head,query,query token,key,key token,weight\n1,1,1,[CLS],1,[CLS],"},
    ),
    "inside a block": (
        {**BERT, "tab": "block", "step": "attention-weights"},
        {
            "block.picture.dir-tiny-bert": "token,[CLS],",
            "lens.answers.dir-tiny-bert": "after,place,answer,probability\n",
            "lens.path.dir-tiny-bert": "after,probability,its place\n",
        },
    ),
    "switch off": (
        {"model": "dir-tiny-bert", "tab": "off", "asked": "The [MASK] sat."},
        {
            "off.grid.dir-tiny-bert.encoder": "layer,head,bits lost\n1,1,",
            "off.bars": "answer,with all heads,without\n",
            "off.sharp": "head,sharpness,bits lost\ne",
        },
    ),
    "grammar": (
        {"tab": "grammar", "model": "minilm"},
        {"grammar.best.minilm": "relation,right %,", "grammar.grid.minilm": "layer,head,right\n1,1,"},
    ),
    "every head": ({"tab": "every"}, {"every.dots": "model,attention,layer,head,depth,previous\n"}),
    "side by side": (
        {"tab": "beside", "beside": "dir-tiny-bert,dir-tiny-gpt2,dir-tiny-t5", "text": "A cat."},
        {
            **{f"beside.map.{number}": "query \\ key,A,cat,.\nA," for number in range(3)},
            "beside.bars": "word,",
            "beside.cross": "query \\ key,A,cat,.\n",
        },
    ),
}


@pytest.mark.parametrize(("query", "pictures"), PICTURES.values(), ids=PICTURES)
def test_every_picture_has_its_table(
    checkpoint_dir: Path, monkeypatch: pytest.MonkeyPatch, query: dict[str, str], pictures: dict[str, str]
) -> None:
    sent: dict[str, Any] = {}
    at = page(**query)
    prefix = "attention.1."
    monkeypatch.setattr(export, "_mount", lambda key, data: sent.update({data["chart"].removeprefix(prefix): data}))
    at.run()
    assert not sent  # closed menus cost nothing
    for name in pictures:
        at.session_state[f"{prefix}{name}--menu"] = True
    at.run()
    assert not at.exception
    assert sent.keys() == pictures.keys()
    for name, begin in pictures.items():
        assert sent[name]["csv"].startswith(begin), sent[name]["csv"][:80]
        assert sent[name]["title"]
        assert sent[name]["alt"]
        assert sent[name]["name"]
    assert len(at.get("plotly_chart")) == len(pictures)
