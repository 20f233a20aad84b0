"""A parameter of a page, declared once: its name in the URL, its label, its range, its widget.

The declaration determines how a URL is read, refused and written, and which widget appears. A section draws the
parameter and gets its value. A control's value is also stored as it arrives, before the run that it starts: a click
elsewhere may interrupt that run before it draws the control. What only a run knows (the layers of this model, the
vocabularies installed) narrows the declaration first::

    LAYER = Integer("layer", "Layer", low=1, high=200)
    ...
    layer = LAYER.with_(high=spec.layers).draw(state)

``None`` in the state, and a URL without the name, mean the default. An emptied text box holds an empty text. A value
that one section refuses, such as a text too long for its box, stays with the page: a section that takes it shows it
again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import checkpoints
from core.checkpoints.spec import CheckpointSpec, Feature
from core.content import content
from core.links import parameters as link
from core.links.parameters import Value
from core.settings import settings
from core.ui import own
from core.ui.links import (
    PageState,
    forget_sentence,
    instead,
    sentence_typed,
    store,
    travelling_sentence,
    without_masks,
    words,
)
from core.ui.page import BRANCH_TITLES, plain

T = TypeVar("T")
Width = int | Literal["stretch"]


@dataclass(frozen=True, kw_only=True)
class Param(ABC, Generic[T]):
    """The base of all parameters."""

    name: str
    """Its name in the URL."""
    label: str
    default: T

    @property
    @abstractmethod
    def carried(self) -> link.Parameter:
        """The URL parameter."""

    def with_(self, **changes: Any) -> Self:
        """A copy of the parameter with other fields, such as a range that depends on a run."""
        return replace(self, **changes)

    def value(self, state: PageState) -> T:
        """The value set by the link or the visitor, or the default; a warning if a link requests one not available."""
        raw = state.values.get(self.name)
        if raw is None:
            return self.default
        try:
            return self.checked(raw)
        except ValueError as error:
            instead(state, f"“{self.label}” cannot be {_quoted(raw)}: {error}. {words('Default instead')}")
            state.decline(self.name)
            return self.default

    @abstractmethod
    def checked(self, raw: Value) -> T:
        """``raw`` as a value of this parameter.

        Raises:
            ValueError: it is not available; the message completes a sentence.
        """

    def written(self, value: T) -> Value:
        """The value as the state stores it."""
        return value  # type: ignore[return-value]


@dataclass(frozen=True, kw_only=True)
class Control(Param[T]):
    """A parameter with a widget of its own."""

    help: str | None = None
    """The help text; None takes the one under its name in ``[help]`` of the page's content."""
    width: Width = "stretch"
    resets: tuple[str, ...] = ()
    """Parameters that return to their defaults when a visitor changes this one."""
    hide_label: bool = False
    """Show the label to screen readers only, where the options explain themselves."""

    @abstractmethod
    def widget(self, state: PageState, slot: str, value: T) -> T:
        """Draw the control.

        Args:
            slot: the widget's key without page and epoch, as :meth:`PageState.key` takes it.
            value: its initial value.
        """

    def slot(self, tag: str = "") -> str:
        """The widget's key without page and epoch; ``tag`` as :meth:`draw` takes it."""
        return f"{self.name}.{tag}" if tag else self.name

    def taken(self, shown: Any) -> T:
        """The value for what the widget shows; None is an empty one."""
        return self.default if shown is None else shown  # type: ignore[no-any-return]

    def standing(self, state: PageState, slot: str = "") -> T:
        """What the control shows, also before it is drawn: in this run its widget may be ahead of the state."""
        key = state.key(slot or self.name)
        return self.taken(st.session_state[key]) if key in st.session_state else self.value(state)

    def within_limits(self) -> Self:
        """The control as the installation's settings bound it."""
        return self

    def draw(self, state: PageState, *, tag: str = "") -> T:
        """Draw the control, store its value in the state, and return it.

        Args:
            state: of this page.
            tag: what else the control depends on, such as the model: another tag restarts it.
        """
        self._take_back(state, state.key(self.slot(tag)))
        before = self.value(state)
        chosen = self.widget(state, self.slot(tag), before)
        if chosen != before and self.resets:
            state.set(**dict.fromkeys(self.resets))
        state.set(**{self.name: self._stored(chosen)})
        return chosen

    def _take_back(self, state: PageState, key: str) -> None:
        """Show again what another section had to refuse, where it is available."""
        try:
            if state.declined.get(self.name) is None or state.values.get(self.name) is not None:
                return
            self.checked(state.declined[self.name])
        except ValueError:
            return
        state.set(**{self.name: state.declined.pop(self.name)})
        st.session_state.pop(key, None)

    def _stored(self, chosen: T) -> Value:
        return None if chosen == self.default else self.written(chosen)

    def arrived(self, key: str) -> None:
        """Store what the widget shows and drop what it resets, in a callback of the widget or of a button beside it."""
        value = self._stored(self.taken(st.session_state.get(key)))
        try:
            if value is not None:
                self.checked(value)
        except ValueError:
            return  # a run that draws the control says so
        store(key, {**dict.fromkeys(self.resets), self.name: value})

    def put(self, key: str, shown: Any) -> None:
        """Let the widget show another value; for callbacks of buttons."""
        st.session_state[key] = shown
        self.arrived(key)

    def _common(self, state: PageState, slot: str) -> dict[str, Any]:
        """Arguments of all widgets."""
        return {
            "key": state.key(slot),
            "help": self.help or state.helps.get(self.name),
            "width": self.width,
            "label_visibility": "collapsed" if self.hide_label else "visible",
            "on_change": self.arrived,
            "args": (state.key(slot),),
        }


_ONE_COLUMN = 6
"""More controls than that stand in two columns of the menu."""


def settings_menu(state: PageState, *controls: Control[Any], tag: str = "") -> dict[str, Any]:
    """Draw a section's settings, which most visitors leave alone, in one closed menu; return their values by name."""
    with settings_popover(state, differing(state, *controls, tag=tag)):
        return draw_settings(state, *controls, tag=tag)


def settings_popover(state: PageState, changed: int) -> DeltaGenerator:
    """The closed menu of a section's settings; ``changed`` of them differ from their defaults."""
    label = f"Settings ({changed} changed)" if changed else "Settings"
    return st.popover(label, icon=":material/tune:", key=state.key("settings"))


def differing(state: PageState, *controls: Control[Any], tag: str = "") -> int:
    """How many of ``controls`` differ from their defaults, as they stand in this run, also before it draws them.

    A default that the app derives is one, and so is what the installation's limits leave of one.
    """
    bounded = [control.within_limits() for control in controls]
    return sum(control.standing(state, control.slot(tag)) != control.default for control in bounded)


def draw_settings(state: PageState, *controls: Control[Any], tag: str = "") -> dict[str, Any]:
    """Draw ``controls`` in one column, or many in two; return their values by name."""
    values: dict[str, Any] = {}
    count = 2 if len(controls) > _ONE_COLUMN else 1
    rows = -(-len(controls) // count)
    for number, column in enumerate(st.columns(count)):
        with column:
            part = controls[number * rows : (number + 1) * rows]
            values |= {control.name: control.draw(state, tag=tag) for control in part}
    return values


def _quoted(raw: Value) -> str:
    text = ", ".join(map(str, raw)) if isinstance(raw, tuple) else str(raw)
    return f"“{link.short(text)}”"


_FEW = 24
"""Options that a sentence lists; of more it names those that are spelled most alike."""


def _available(options: Mapping[str, str], raw: Value) -> str:
    names = [name for name in options if name]
    if len(names) <= _FEW:
        return f"available here: {', '.join(names) or 'nothing'}"
    text = ", ".join(map(str, raw)) if isinstance(raw, tuple) else str(raw)
    near = get_close_matches(text.lower()[:60], names, n=4, cutoff=0.0)
    return f"available here: {', '.join(near)} and {len(names) - len(near)} more"


@dataclass(frozen=True, kw_only=True)
class Choice(Control[str]):
    default: str = ""
    """Empty for the first option."""
    options: Mapping[str, str]
    """The name that the control shows, by the word in the URL. Empty in a declaration whose options depend on a run."""
    style: Literal["menu", "row", "pills"] = "menu"

    def __post_init__(self) -> None:
        if self.default not in self.options and self.options:
            object.__setattr__(self, "default", next(iter(self.options)))

    @property
    def carried(self) -> link.Choice:
        return link.Choice(None, tuple(self.options))

    def checked(self, raw: Value) -> str:
        if raw in self.options:
            return str(raw)
        raise ValueError(_available(self.options, raw))

    def widget(self, state: PageState, slot: str, value: str) -> str:
        options, common = list(self.options), self._common(state, slot) | {"format_func": self.options.__getitem__}
        if self.style == "menu":
            menu: Callable[..., str] = st.selectbox
            return menu(self.label, options, index=options.index(value), **common)
        if self.width == "stretch":
            common["width"] = "content"  # whole rather than clipped in a row of others
        draw: Callable[..., str] = st.segmented_control if self.style == "row" else st.pills
        return draw(self.label, options, default=value, required=True, **common)


def menu_names(specs: Iterable[CheckpointSpec]) -> dict[str, str]:
    """What a menu calls each model, by slug: its short name, which fits a narrow menu, unless two share it."""
    specs = list(specs)
    count = Counter(spec.short_name for spec in specs)
    return {spec.slug: spec.short_name if count[spec.short_name] == 1 else spec.name for spec in specs}


@dataclass(frozen=True, kw_only=True)
class Model(Choice):
    """One of the live models that are available and suitable."""

    label: str = "Live model"
    options: Mapping[str, str] = None  # type: ignore[assignment]
    needs: tuple[Feature, ...] = ()
    """What the models offer."""
    fits: Callable[[CheckpointSpec], bool] = lambda spec: True
    first: str = ""
    """Where `checkpoints.first` finds the default model; otherwise it is the first one offered."""

    def __post_init__(self) -> None:
        if self.options is None:
            object.__setattr__(self, "options", {})
        super().__post_init__()

    def offered(self) -> dict[str, CheckpointSpec]:
        """The available models by slug, in the sidebar's order: by branch and name."""
        order = list(BRANCH_TITLES)
        ready = [
            spec
            for spec in (*checkpoints.available(), *own.specs())
            if spec.ready and spec.offers(*self.needs) and self.fits(spec)
        ]
        ready.sort(key=lambda spec: (order.index(spec.branch) if spec.branch in order else len(order), spec.slug))
        return {spec.slug: spec for spec in ready}

    def here(self) -> Self:
        """The parameter with the models that are available."""
        specs = self.offered()
        first = next((slug for slug in checkpoints.first(self.first) if slug in specs), "") if self.first else ""
        names = {
            slug: f"{name} · {BRANCH_TITLES.get(specs[slug].branch, specs[slug].branch)}"
            for slug, name in menu_names(specs.values()).items()
        }
        return self.with_(options=names, default=first or next(iter(names), ""))


@dataclass(frozen=True, kw_only=True)
class Words(Control[tuple[str, ...]]):
    """Any number of options, in the order offered or chosen."""

    default: tuple[str, ...] = ()
    options: Mapping[str, str]
    most: int = 24
    style: Literal["menu", "pills"] = "pills"
    may_be_empty: bool = False
    """Otherwise an empty choice means the default."""
    as_chosen: bool = False
    """Keep the order in which they were chosen."""
    placeholder: str | None = None
    """Text of an empty menu."""

    @property
    def carried(self) -> link.Words:
        return link.Words(self.most)

    def value(self, state: PageState) -> tuple[str, ...]:
        raw = state.values.get(self.name)
        strange = [word for word in raw if word not in self.options] if isinstance(raw, tuple) else []
        if isinstance(raw, tuple) and strange and len(strange) < len(raw):
            instead(state, f"“{self.label}” ignores {', '.join(map(_quoted, strange))}. {words('Not available')}")
            state.set(**{self.name: tuple(str(word) for word in raw if word not in strange)})
        return super().value(state)

    def checked(self, raw: Value) -> tuple[str, ...]:
        chosen = tuple(str(word) for word in raw) if isinstance(raw, tuple) else ()
        if any(word not in self.options for word in chosen):
            raise ValueError(_available(self.options, raw))
        return chosen[: self.most]

    def widget(self, state: PageState, slot: str, value: tuple[str, ...]) -> tuple[str, ...]:
        options, common = list(self.options), self._common(state, slot)
        common |= {"default": value, "format_func": self.options.__getitem__}
        if self.style == "menu":
            common |= {"max_selections": self.most, "placeholder": self.placeholder}
            chosen = st.multiselect(self.label, options, **common)
        else:
            chosen = st.pills(self.label, options, selection_mode="multi", **common | {"width": "content"})
        return self.taken(chosen)

    def taken(self, shown: Sequence[str] | None) -> tuple[str, ...]:
        chosen = shown or ()
        taken = tuple(chosen if self.as_chosen else (word for word in self.options if word in chosen))
        return taken if self.may_be_empty else taken or self.default


@dataclass(frozen=True, kw_only=True)
class _Number(Control[T]):
    """A number in a box or on a slider."""

    low: float
    high: float
    step: float | None = None
    style: Literal["box", "slider"] = "box"
    format: str | None = None
    """A printf format, e.g. ``%d%%``."""
    placeholder: str | None = None
    """Text of an empty box; only a box without a default can be empty."""
    _type: ClassVar[type[int] | type[float]] = float

    def checked(self, raw: Value) -> T:
        if isinstance(raw, int | float) and self.low <= raw <= self.high and raw == self._type(raw):
            return self._type(raw)  # type: ignore[return-value]
        raise ValueError(f"it must lie from {_bound(self.low)} to {_bound(self.high)} here")

    def widget(self, state: PageState, slot: str, value: T) -> T:
        number: Callable[[Any], Any] = self._type
        draw: Callable[..., Any] = st.slider if self.style == "slider" else st.number_input
        chosen = draw(
            self.label,
            number(self.low),
            number(self.high),
            None if value is None else number(value),
            step=self.step,
            format=self.format,
            **self._common(state, slot),
            **({"placeholder": self.placeholder} if self.placeholder else {}),
        )
        return self.taken(chosen)

    def taken(self, shown: float | None) -> T:
        return self.default if shown is None else self._type(shown)  # type: ignore[return-value]


def _bound(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


@dataclass(frozen=True, kw_only=True)
class Integer(_Number[int]):
    default: int = 0
    low: int
    high: int
    step: int = 1
    style: Literal["box", "slider", "menu"] = "box"  # type: ignore[assignment]
    """A menu lists all values."""
    limit: str = ""
    """The installation's setting that also bounds it."""
    _type = int

    def __post_init__(self) -> None:
        if not self.low <= self.default <= self.high:
            object.__setattr__(self, "default", min(max(self.default, self.low), self.high))

    @property
    def carried(self) -> link.Integer:
        return link.Integer(None, self.low, self.high)

    def value(self, state: PageState) -> int:
        within = self.within_limits()
        return super().value(state) if within is self else within.value(state)

    def draw(self, state: PageState, *, tag: str = "") -> int:
        within = self.within_limits()
        return super().draw(state, tag=tag) if within is self else within.draw(state, tag=tag)

    def within_limits(self) -> Self:
        most = getattr(settings(), self.limit) if self.limit else self.high
        return self if self.high <= most else self.with_(high=max(self.low, most))

    def checked(self, raw: Value) -> int:
        number = super().checked(raw)
        return number - (number - self.low) % self.step if self.style == "menu" else number

    def widget(self, state: PageState, slot: str, value: int) -> int:
        if self.style != "menu":
            return super().widget(state, slot, value)
        menu: Callable[..., int] = st.selectbox
        options = range(self.low, self.high + 1, self.step)
        common = self._common(state, slot) | {"format_func": lambda number: (self.format or "%d") % number}
        return menu(self.label, options, index=options.index(value), **common)


@dataclass(frozen=True, kw_only=True)
class Real(_Number[float]):
    style: Literal["box", "slider"] = "slider"

    @property
    def carried(self) -> link.Real:
        return link.Real(None, self.low, self.high)


@dataclass(frozen=True, kw_only=True)
class Unset(_Number[float | None]):
    """A real number whose box may stay empty."""

    default: float | None = None
    format: str | None = "%g"

    @property
    def carried(self) -> link.Real:
        return link.Real(None, self.low, self.high)


@dataclass(frozen=True, kw_only=True)
class Seed(Integer):
    """A random seed, with a button for the next one."""

    name: str = "seed"
    label: str = "Random seed"
    low: int = 0
    high: int = 2**31 - 1
    width: Width = 130
    again: str = "Sample again"

    def widget(self, state: PageState, slot: str, value: int) -> int:
        chosen = super().widget(state, slot, value)
        self._button(state.key(slot), chosen)
        return chosen

    @property
    def box(self) -> Integer:
        """The box alone, for settings beside a :meth:`button`."""
        return Integer(name=self.name, label=self.label, low=self.low, high=self.high, default=self.default)

    def button(self, state: PageState, *, tag: str = "") -> int:
        """Draw the button alone; return the seed."""
        seed = self.value(state)
        self._button(state.key(self.slot(tag)), seed)
        return seed

    def _button(self, key: str, seed: int) -> None:
        following = (key, (seed + 1) % 2**31)
        st.button(self.again, on_click=self.put, args=following, key=f"{key}.again", icon=":material/casino:")


@dataclass(frozen=True, kw_only=True)
class Toggle(Control[bool]):
    """On or off; ``yes`` or ``no`` in the URL."""

    default: bool = False
    on: str = "yes"
    """The word for on in the URL."""

    @property
    def carried(self) -> link.Choice:
        return link.Choice(None, (self.on, "no"))

    def checked(self, raw: Value) -> bool:
        return raw == self.on

    def widget(self, state: PageState, slot: str, value: bool) -> bool:
        toggle: Callable[..., bool] = st.toggle
        return toggle(self.label, value, **self._common(state, slot) | {"width": "content"})

    def written(self, value: bool) -> str:
        return self.on if value else "no"


@dataclass(frozen=True, kw_only=True)
class Text(Control[str]):
    """A text typed by the visitor. An emptied box stays empty, also after a reload; Reset restores the sample."""

    default: str = ""
    height: int | None = None
    """The height of a box of several lines, in pixels; None for one line."""
    most: int | None = None
    """The most characters that the box accepts; None for the page's limit."""
    samples: Mapping[str, str] | None = None
    """Sample texts by their titles."""
    placeholder: str | None = None
    icon: str | None = None
    sentence: Literal["", "plain", "any", "masked"] = ""
    """Whether this box shares the visitor's sentence with others, and what arrives: the sentence without masks, the
    sentence as it is, or only one with a mask. A text longer than the box or than :data:`MOST_TRAVELS` stays away."""

    @property
    def carried(self) -> link.Text:
        return link.Text()

    def checked(self, raw: Value) -> str:
        text = str(raw)
        if self.most is not None and len(text) > self.most:
            raise ValueError(f"it has {len(text):,} characters, and {self.most:,} fit here")
        return text

    def value(self, state: PageState) -> str:
        arriving = self.arriving(state) if state.values.get(self.name) is None else None
        return arriving or super().value(state)

    def standing(self, state: PageState, slot: str = "") -> str:
        key = state.key(slot or self.name)
        if self.most is not None and len(st.session_state.get(key) or "") > self.most:
            del st.session_state[key]  # of another section's box; Streamlit would cut it off
        return super().standing(state, slot)

    def arriving(self, state: PageState) -> str | None:
        """What of the visitor's sentence, typed in another box, fits here."""
        sentence = travelling_sentence()
        if (
            not self.sentence
            or not state.travels
            or sentence is None
            or (sentence.page, sentence.name) == (state.page, self.name)
        ):
            return None
        text = without_masks(sentence.text) if self.sentence == "plain" else sentence.text
        fits = len(text) <= (self.most or MOST_TRAVELS) and (self.sentence != "masked" or "[MASK]" in text)
        return text if fits and text != self.default else None

    def draw(self, state: PageState, *, tag: str = "") -> str:
        arriving = self.arriving(state)
        state.arrived |= bool(arriving) and state.values.get(self.name) is None
        chosen = super().draw(state, tag=tag)
        if arriving and chosen == arriving:
            _sentence_note(state, state.key(self.slot(tag)), self)
        return chosen

    def taken(self, shown: str | None) -> str:
        return shown or ""

    def typed(self, key: str) -> None:
        """Store the text; make it the visitor's sentence, if it is one."""
        self.arrived(key)
        text = str(st.session_state.get(key) or "").strip()
        if self.sentence and text and len(text) <= MOST_TRAVELS and "\n" not in text:
            sentence_typed(text, key.partition(".")[0], self.name)

    def widget(self, state: PageState, slot: str, value: str) -> str:
        common: dict[str, Any] = self._common(state, slot) | {"max_chars": self.most, "placeholder": self.placeholder}
        common |= {"on_change": self.typed}
        draw: Callable[..., str | None] = st.text_area
        if self.height is None:
            draw, common["icon"] = st.text_input, self.icon
        else:
            common["height"] = self.height
        typed = self.taken(draw(self.label, self.standing(state, slot), **common))
        if self.samples:
            key = state.key(slot)
            with st.popover("Samples"):
                for title, sample in self.samples.items():
                    st.button(
                        _sample_label(title, sample),
                        key=f"{key}.sample.{title}",
                        on_click=self.put,
                        args=(key, sample),
                        width="stretch",
                    )
        return typed


MOST_TRAVELS = 300
"""Characters of the visitor's sentence; a longer text is no sentence, and stays on its page."""


def _sentence_note(state: PageState, key: str, box: Text) -> None:
    """Say above the page where the sentence comes from, with a way back to the sample."""
    sentence = travelling_sentence()
    if sentence is None:
        return
    with (state.above or st).container(horizontal=True, vertical_alignment="center", gap="small"):
        title = content("home", "home").title if sentence.page == "home" else content(sentence.page).title
        st.caption(f"{words('Your sentence')} {title}", width="content")
        st.button("Use the sample", key=f"{key}.own", type="tertiary", on_click=_use_sample, args=(key, box))


def _use_sample(key: str, box: Text) -> None:
    forget_sentence()
    box.put(key, box.default)


def _sample_label(title: str, sample: str) -> str:
    line = " ".join(sample.split())
    return f"{title}: {plain(line if len(line) <= 44 else f'{line[:43]}…')}"


@dataclass(frozen=True, kw_only=True)
class Carried(Param[Value]):
    """A value without a widget: a component or a chart sets it, the URL stores it."""

    default: Value = None
    as_: link.Parameter

    @property
    def carried(self) -> link.Parameter:
        return self.as_

    def checked(self, raw: Value) -> Value:
        return raw
