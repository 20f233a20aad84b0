const RTL = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/g;
const LETTERS = /\p{L}/gu;

function draw(box, data, state) {
  box.replaceChildren();
  const all = data.tokens.map((t) => t.text).join(" ");
  const letters = (all.match(LETTERS) || []).length;
  box.dir = letters && (all.match(RTL) || []).length * 2 > letters ? "rtl" : "ltr";
  state.buttons = data.tokens.map((token, i) => {
    const next = data.tokens[i + 1];
    const chip = document.createElement("button");
    chip.type = "button";
    chip.className = "chip" + (token.special ? " special" : "") + (token.joined ? " joined" : "")
      + (next && next.joined ? " opens" : "") + (token.off ? " off" : "");
    chip.title = token.title;
    if (token.mark) {
      const mark = document.createElement("span");
      mark.className = "mark";
      mark.setAttribute("aria-hidden", "true");
      mark.textContent = token.mark;
      chip.append(mark);
    }
    const word = document.createElement("bdi");
    word.textContent = token.text;
    chip.append(word);
    const said = document.createElement("span");
    said.className = "hidden";
    said.textContent = ", " + token.title;
    chip.append(said);
    if (typeof token.bar === "number") {
      const bar = document.createElement("span");
      bar.className = "bar";
      bar.style.width = Math.round(100 * Math.min(1, Math.max(0, token.bar))) + "%";
      chip.append(bar);
    }
    if (token.off) chip.setAttribute("aria-disabled", "true");
    box.append(chip);
    return chip;
  });
}

function mark(data, state) {
  const usable = state.buttons.map((_, i) => i).filter((i) => !data.tokens[i].off);
  if (!usable.includes(state.at)) {
    const first = usable.find((i) => state.picked.has(i));
    state.at = first === undefined ? (usable.length ? usable[0] : 0) : first;
  }
  state.buttons.forEach((chip, i) => {
    chip.classList.toggle("taken", state.picked.has(i) || data.held.includes(i));
    if (!data.tokens[i].off) chip.setAttribute("aria-pressed", state.picked.has(i) ? "true" : "false");
    chip.tabIndex = i === state.at && usable.length ? 0 : -1;
  });
}

/** Scroll a row, and nothing around it, until it shows a chip. */
function reveal(box, chip) {
  if (!chip) return;
  const [inside, own] = [box.getBoundingClientRect(), chip.getBoundingClientRect()];
  if (own.left < inside.left || own.right > inside.right) {
    box.scrollLeft += (own.left + own.width / 2 - inside.left - inside.width / 2) * (box.offsetWidth / inside.width);
  }
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const box = parentElement.querySelector(".chips");
  const state = box.atlas || (box.atlas = { sign: null, count: 0, picked: new Set(), at: -1, buttons: [] });
  state.send = setTriggerValue;
  state.data = data;
  box.style.setProperty("--accent", data.accent);
  box.style.setProperty("--on-accent", data.onAccent);
  box.setAttribute("aria-label", data.label);
  box.classList.toggle("row", Boolean(data.row));

  const sign = JSON.stringify(data.tokens);
  const fresh = sign !== state.sign;
  if (fresh) {
    state.sign = sign;
    state.at = -1;
    draw(box, data, state);
  }
  // An answer to an older click must not undo a newer one, so clicks are counted and older answers are passed over.
  if (fresh || data.count >= state.count) {
    state.picked = new Set(data.selected);
    state.count = Math.max(state.count, data.count);
  }
  mark(data, state);
  const [first] = state.picked;
  if (data.row && first !== state.seen) requestAnimationFrame(() => reveal(box, state.buttons[first])); // has a layout
  state.seen = first;

  const choose = (i) => {
    if (state.data.tokens[i].off) return;
    if (state.data.multi) {
      const groups = state.data.groups;
      const together = groups
        ? groups.map((_, j) => j).filter((j) => groups[j] === groups[i] && !state.data.tokens[j].off) : [i];
      const taken = state.picked.has(i);
      together.forEach((j) => (taken ? state.picked.delete(j) : state.picked.add(j)));
    } else {
      state.picked = new Set(state.picked.has(i) && state.data.clearable ? [] : [i]);
    }
    state.at = i;
    state.count += 1;
    mark(state.data, state);
    state.send("sent", { selected: [...state.picked].sort((a, b) => a - b), count: state.count });
  };
  box.onclick = (event) => {
    const chip = event.target.closest(".chip");
    if (chip) choose(state.buttons.indexOf(chip));
  };
  box.onkeydown = (event) => {
    const usable = state.buttons.map((_, i) => i).filter((i) => !state.data.tokens[i].off);
    const here = usable.indexOf(state.buttons.indexOf(event.target.closest(".chip")));
    if (here < 0) return;
    const forward = box.dir === "rtl" ? "ArrowLeft" : "ArrowRight";
    const back = box.dir === "rtl" ? "ArrowRight" : "ArrowLeft";
    let to = null;
    if (event.key === forward || event.key === "ArrowDown") to = Math.min(here + 1, usable.length - 1);
    else if (event.key === back || event.key === "ArrowUp") to = Math.max(here - 1, 0);
    else if (event.key === "Home") to = 0;
    else if (event.key === "End") to = usable.length - 1;
    if (to === null) return;
    event.preventDefault();
    state.at = usable[to];
    mark(state.data, state);
    state.buttons[state.at].focus();
  };
}
