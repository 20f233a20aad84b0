const FIELDS = "input, textarea, button:not([disabled])";

function first(root) {
  for (const element of root.querySelectorAll("*")) {
    if (element.matches(FIELDS) && element.tabIndex >= 0) return element;
    const inner = element.shadowRoot && first(element.shadowRoot);
    if (inner) return inner;
  }
  return null;
}

export default function (component) {
  const { data, parentElement } = component;
  const box = parentElement.querySelector("span");
  if (!data.turn || box.dataset.turn === String(data.turn)) return;
  box.dataset.turn = String(data.turn);
  // The widget may arrive in the page a moment after this.
  let tries = 40;
  const look = () => {
    const place = document.querySelector("." + data.place);
    const field = place && first(place);
    if (field) field.focus({ preventScroll: false });
    else if (tries-- > 0) setTimeout(look, 50);
  };
  look();
}
