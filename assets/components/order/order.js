// A row of tokens in an order of their own, moved by pointer or by keyboard. Tokens arrive as data and are written with
// textContent. Space picks a token up and drops it; in between the arrow keys move it. Escape puts it back.

function build(row, data, state) {
  state.chips = data.tokens.map((token, place) => {
    const chip = document.createElement("button");
    chip.type = "button";
    chip.dataset.place = place;
    chip.title = token.title;
    const step = document.createElement("span");
    step.className = "step";
    step.setAttribute("aria-hidden", "true");
    chip.append(step);
    if (token.mark) {
      const mark = document.createElement("span");
      mark.className = "mark";
      mark.setAttribute("aria-hidden", "true");
      mark.textContent = token.mark;
      chip.append(mark);
    }
    const word = document.createElement("bdi");
    word.textContent = token.text;
    const said = document.createElement("span");
    said.className = "said";
    chip.append(word, said);
    return chip;
  });
  state.line = document.createElement("span");
  state.line.className = "line";
  state.line.setAttribute("aria-hidden", "true");
}

// Puts the chips into their order without taking the one in hand, or in focus, out of the document: it would lose both.
function arrange(row, state) {
  const known = state.order.length - state.asked;
  const wanted = state.order.map((place) => state.chips[place]);
  if (known > 0 && state.asked > 0) wanted.splice(known, 0, state.line);
  else state.line.remove();
  const focused = row.getRootNode().activeElement;
  const fixed = state.held !== null ? state.chips[state.held] : state.chips.includes(focused) ? focused : null;
  const from = fixed && fixed.parentNode === row ? wanted.indexOf(fixed) : -1;
  if (from < 0) row.replaceChildren(...wanted);
  else {
    [...row.children].filter((made) => !wanted.includes(made)).forEach((made) => made.remove());
    wanted.slice(0, from).forEach((made) => row.insertBefore(made, fixed));
    wanted.slice(from + 1).forEach((made) => row.append(made));
  }
  state.order.forEach((place, at) => {
    const chip = state.chips[place];
    const asked = at >= known;
    chip.className = "chip" + (asked ? " asked" : "") + (state.held === place ? " held" : "");
    chip.querySelector(".step").textContent = asked ? String(at - known + 1) : "·";
    chip.querySelector(".said").textContent =
      `, ${at + 1} of ${state.order.length} in the order, ` + (asked ? `predicted in step ${at - known + 1}` : "context");
    chip.setAttribute("aria-pressed", state.held === place ? "true" : "false");
    chip.tabIndex = place === state.at ? 0 : -1;
  });
}

function tell(root, state, place) {
  const at = state.order.indexOf(place) + 1;
  root.querySelector("[role=status]").textContent = `${state.data.tokens[place].text}: ${at} of ${state.order.length}`;
}

function move(row, state, place, to) {
  const from = state.order.indexOf(place);
  const target = Math.max(0, Math.min(to, state.order.length - 1));
  if (from === target) return false;
  state.order.splice(from, 1);
  state.order.splice(target, 0, place);
  arrange(row, state);
  return true;
}

function report(state, wait) {
  state.count += 1;
  state.unsent = { order: [...state.order], count: state.count };
  send(state, wait);
}

// What has not left yet survives a drawing anew, which ends with the timer of the drawing before.
function send(state, wait) {
  clearTimeout(state.timer);
  const page = location.pathname;
  state.timer = setTimeout(() => {
    // Who has gone on to another page meanwhile must not be taken back, with that page's query, to this one.
    if (location.pathname !== page) return;
    const value = state.unsent;
    state.unsent = null;
    state.send("sent", value);
  }, wait);
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector(".order");
  const row = root.querySelector(".row");
  const state = root.atlas || (root.atlas = { sign: null, count: 0, held: null, at: 0, order: [], chips: [] });
  state.send = setTriggerValue;
  state.data = data;
  root.style.setProperty("--accent", data.accent);
  root.style.setProperty("--on-accent", data.onAccent);
  row.setAttribute("aria-label", data.label);

  const sign = JSON.stringify(data.tokens);
  const fresh = sign !== state.sign;
  if (fresh) {
    state.sign = sign;
    state.held = null;
    build(row, data, state);
  }
  // An answer to an older move must not undo a newer one.
  if (fresh || data.count >= state.count) {
    state.order = [...data.order];
    state.count = Math.max(state.count, data.count);
    if (fresh) state.at = state.order.length ? state.order[0] : 0;
  }
  state.asked = data.asked;
  arrange(row, state);
  if (state.unsent) send(state, 200);

  row.onkeydown = (event) => {
    const chip = event.target.closest(".chip");
    if (!chip) return;
    const place = Number(chip.dataset.place);
    const at = state.order.indexOf(place);
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const to = event.key === "Home" ? 0 : event.key === "End" ? state.order.length - 1 : by ? at + by : null;
    if (event.key === " " || event.key === "Enter") {
      state.before = [...state.order];
      state.held = state.held === place ? null : place;
      arrange(row, state);
    } else if (event.key === "Escape" && state.held !== null) {
      state.order = state.before;
      state.held = null;
      arrange(row, state);
      report(state, 0);
    } else if (to !== null && state.held === place) {
      if (move(row, state, place, to)) report(state, 200);
      tell(root, state, place);
    } else if (to !== null) {
      state.held = null;
      state.at = state.order[Math.max(0, Math.min(to, state.order.length - 1))];
      arrange(row, state);
      state.chips[state.at].focus();
    } else return;
    event.preventDefault();
  };
  row.onfocusout = (event) => {
    if (state.held !== null && !state.drag && !row.contains(event.relatedTarget)) {
      state.held = null;
      arrange(row, state);
    }
  };
  row.onpointerdown = (event) => {
    const chip = event.target.closest(".chip");
    if (!chip || event.button !== 0) return;
    state.drag = { place: Number(chip.dataset.place), x: event.clientX, y: event.clientY, moved: false };
    state.at = state.drag.place;
    chip.setPointerCapture(event.pointerId);
  };
  row.onpointermove = (event) => {
    const drag = state.drag;
    if (!drag) return;
    if (!drag.moved && Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < 5) return;
    if (!drag.moved) {
      drag.moved = true;
      state.held = drag.place;
      arrange(row, state);
    }
    const over = state.order.findIndex((place) => {
      const box = state.chips[place].getBoundingClientRect();
      return event.clientX >= box.left - 3 && event.clientX <= box.right + 3
        && event.clientY >= box.top - 3 && event.clientY <= box.bottom + 3;
    });
    if (over < 0 || state.order[over] === drag.place) return;
    // past the middle of the one it meets: otherwise a wide token and a narrow one would change places for ever
    const box = state.chips[state.order[over]].getBoundingClientRect();
    const later = over > state.order.indexOf(drag.place);
    const past = later ? event.clientX > box.left + box.width / 2 : event.clientX < box.left + box.width / 2;
    const sameLine = Math.abs(box.top - state.chips[drag.place].getBoundingClientRect().top) < 4;
    if ((past || !sameLine) && move(row, state, drag.place, over)) drag.changed = true;
  };
  const drop = () => {
    const drag = state.drag;
    state.drag = null;
    if (!drag || !drag.moved) return;
    state.held = null;
    arrange(row, state);
    tell(root, state, drag.place);
    if (drag.changed) report(state, 0);
  };
  row.onpointerup = drop;
  row.onpointercancel = drop;
  return () => clearTimeout(state.timer);
}
