// The lesson that a visitor collects: a title and steps, kept in this browser alone.

const DRAFT = "atlas.lesson";

function readDraft() {
  try {
    const { title, steps } = JSON.parse(localStorage.getItem(DRAFT));
    const text = (value) => (typeof value === "string" ? value : "");
    const whole = (step) => ({ ...step, title: text(step.title), text: text(step.text), view: text(step.view) });
    return { title: text(title), steps: steps.map((step) => whole(Object(step))) }; // the server says what does not fit
  } catch { /* nothing stored, or something else under this name */ }
  return { title: "", steps: [] };
}

// False where the browser stores nothing.
function writeDraft(draft) {
  try {
    localStorage.setItem(DRAFT, JSON.stringify(draft));
    return true;
  } catch {
    return false;
  }
}

// The draft with `steps` after its own, no two of one title; null where it would have too many.
function withSteps(draft, steps, most) {
  if (draft.steps.length + steps.length > most) return null;
  const titles = new Set(draft.steps.map((step) => step.title));
  const added = steps.map((step) => {
    let title = step.title;
    for (let n = 2; titles.has(title); n += 1) title = `${step.title} (${n})`;
    titles.add(title);
    return { ...step, title };
  });
  return { ...draft, steps: [...draft.steps, ...added] };
}
