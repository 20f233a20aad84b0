// The visitor's own lesson: its steps in their order, with boxes for titles and texts. It stays in this browser; the
// server is sent it to check its views, and keeps nothing.

const PAUSE = 600; // milliseconds without typing before it is sent

// A box that changes one field of what it is about.
function box(tag, about, field, name, most, changed) {
  const made = element(tag);
  made.maxLength = most;
  made.value = about[field];
  made.setAttribute("aria-label", name);
  made.oninput = () => {
    about[field] = made.value;
    changed();
  };
  return made;
}

function row(state, step, at) {
  const { steps } = state.draft;
  const item = element("li");
  const line = element("div", "row");
  const title = box("input", step, "title", `Title of step ${at + 1}`, 200, () => save(state, PAUSE));
  const button = (sign, name, disabled, act) => {
    const made = element("button", "", sign);
    Object.assign(made, { type: "button", disabled, title: name, onclick: act });
    made.setAttribute("aria-label", `${name}: step ${at + 1}`);
    line.append(made);
  };
  line.append(element("span", "", `${at + 1}.`), title);
  button("↑", "Move up", at === 0, () => move(state, at, at - 1));
  button("↓", "Move down", at === steps.length - 1, () => move(state, at, at + 1));
  button("×", "Remove", false, () => {
    keep(state);
    steps.splice(at, 1);
    redraw(state, `Removed: ${step.title}`, Math.min(at, steps.length - 1), 2);
  });
  const text = box("textarea", step, "text", `Text of step ${at + 1}`, 4000, () => save(state, PAUSE));
  text.rows = 2;
  text.placeholder = "Text";
  item.append(line, text, element("small", "", step.view));
  if (step.question) item.append(element("small", "", step.question));
  return item;
}

function keep(state) {
  state.before = JSON.stringify(state.draft);
}

function move(state, from, to) {
  const { steps } = state.draft;
  steps.splice(to, 0, ...steps.splice(from, 1));
  const turned = to === 0 ? 1 : to === steps.length - 1 ? 0 : to < from ? 0 : 1; // at an end one button is disabled
  redraw(state, `${steps[to].title}: step ${to + 1} of ${steps.length}`, to, turned);
}

// Draws all anew, says what happened, and puts the focus on a button of the step that it happened to.
function redraw(state, said, at, button) {
  save(state, 0);
  draw(state);
  state.status.textContent = said;
  (state.list.children[at]?.querySelectorAll("button")[button] ?? state.undo).focus();
}

function draw(state) {
  const { draft, list, none, all, clear, undo } = state;
  none.hidden = draft.steps.length > 0;
  all.hidden = clear.hidden = !draft.steps.length;
  undo.hidden = !state.before;
  all.querySelector("input").value = draft.title;
  list.replaceChildren(...draft.steps.map((step, at) => row(state, step, at)));
}

function save(state, pause) {
  if (!writeDraft(state.draft)) state.status.textContent = "This browser stores nothing";
  clearTimeout(state.timer);
  state.timer = setTimeout(() => {
    const steps = state.draft.steps.map((step, at) => ({ ...step, title: step.title.trim() || `Step ${at + 1}` }));
    state.count += 1;
    state.send("sent", { count: state.count, draft: JSON.stringify({ title: state.draft.title, steps }) });
  }, pause);
}

// What a lesson that is open brings; once, though a page may be drawn again before the server has heard of it.
function take(state, add) {
  if (!add || state.taken === add.id) return;
  state.taken = add.id;
  const draft = withSteps(state.draft, add.draft.steps, state.most);
  if (draft === null) {
    state.status.textContent = `A lesson has ${state.most} steps at most`;
    return;
  }
  keep(state);
  state.draft = { ...draft, title: draft.title || add.draft.title };
  redraw(state, `${add.draft.steps.length} steps added`, state.draft.steps.length - add.draft.steps.length, 2);
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const find = (name) => parentElement.querySelector(name);
  const first = !parentElement.atlas;
  const state = parentElement.atlas || (parentElement.atlas = { count: 0 });
  Object.assign(state, { send: setTriggerValue, most: data.most, count: Math.max(data.count, state.count) });
  if (first) {
    const [clear, undo] = parentElement.querySelectorAll("button:not(li button)");
    Object.assign(state, { list: find("ol"), none: find(".none"), all: find(".all"), status: find("[role=status]"), clear, undo });
    state.draft = readDraft();
    state.none.textContent = data.none;
    const title = find("input");
    title.oninput = () => {
      state.draft.title = title.value;
      save(state, PAUSE);
    };
    clear.onclick = () => {
      keep(state);
      state.draft = { title: "", steps: [] };
      redraw(state, "All steps removed", -1, 0);
    };
    undo.onclick = () => {
      state.draft = JSON.parse(state.before);
      state.before = "";
      redraw(state, "Undone", 0, 2);
    };
    draw(state);
    if (state.draft.steps.length || data.known) save(state, 0);
  }
  take(state, data.add);
}
