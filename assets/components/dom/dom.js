// Elements of HTML and SVG; texts go in with textContent alone.

const SVG = "http://www.w3.org/2000/svg";

function element(tag, cls, text) {
  const made = document.createElement(tag);
  if (cls) made.className = cls;
  if (text !== undefined) made.textContent = text;
  return made;
}

function drawn(tag, cls, attributes, text) {
  const made = document.createElementNS(SVG, tag);
  if (cls) made.setAttribute("class", cls);
  Object.entries(attributes || {}).forEach(([name, value]) => made.setAttribute(name, String(value)));
  if (text !== undefined) made.textContent = text;
  return made;
}
