// A drawing of a component as a file of its own: what the page's style sheet says of it is written into it.

const SAVED_STYLES = [
  "fill", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap", "opacity", "display",
  "font-family", "font-size", "font-weight", "text-anchor", "dominant-baseline", "paint-order",
];

const SAVED_WITHOUT = /^(class|style|role|tabindex|aria-.*|data-.*)$/;

// The text of an SVG file: `svg` as it is drawn, in a box [left, top, width, height], on a ground, with a title.
function standalone(svg, title, ground, [x, y, width, height]) {
  const copy = svg.cloneNode(true);
  const own = [...svg.querySelectorAll("*")];
  copy.querySelectorAll("*").forEach((one, i) => {
    const style = getComputedStyle(own[i]);
    SAVED_STYLES.forEach((name) => one.setAttribute(name, style.getPropertyValue(name)));
    [...one.attributes].map((kept) => kept.name).filter((name) => SAVED_WITHOUT.test(name)).forEach((name) => {
      one.removeAttribute(name);
    });
  });
  const add = (name, attributes) => {
    const made = document.createElementNS(copy.namespaceURI, name);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    copy.prepend(made);
    return made;
  };
  add("rect", { x, y, width, height, fill: ground });
  add("title", {}).textContent = title;
  ["tabindex", "role", "aria-label", "aria-describedby", "class"].forEach((name) => copy.removeAttribute(name));
  copy.setAttribute("viewBox", `${x} ${y} ${width} ${height}`);
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  copy.setAttribute("xmlns", copy.namespaceURI);
  return new XMLSerializer().serializeToString(copy);
}

function download(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
