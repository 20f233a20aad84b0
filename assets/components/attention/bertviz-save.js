// The picture that bertviz has drawn, as SVG or PNG, made by the browser as it stands: layer, heads, part of the text and
// what is pointed at or opened. Shapes that cannot be seen stay out; of the others, what a style sheet says is written
// into them, so that the file looks alike wherever it opens. Nothing is asked for and nothing is sent.

/** What places a shape, and what is seen of it; the second only where it is not what SVG takes for granted. */
const PLACES = ["x", "y", "x1", "y1", "x2", "y2", "dx", "dy", "width", "height", "rx", "ry", "d", "transform"];
const LOOKS = {
  line: { stroke: "none", "stroke-width": "1px", "stroke-opacity": "1" },
  text: { fill: "", "font-family": "", "font-size": "", "font-weight": "400", "text-anchor": "start", "unicode-bidi": "" },
  rect: { fill: "", "fill-opacity": "1", stroke: "none", "stroke-width": "1px", "stroke-opacity": "1" },
  g: {},
};
LOOKS.path = LOOKS.rect;
LOOKS.tspan = { "font-size": "" };
const MARGIN = 12;
const MOST_PIXELS = 16_000; // of a side; browsers draw no wider canvas than 16,384

const rounded = (value) => value.replace(/\d+\.\d{3,}/g, (number) => String(Math.round(number * 100) / 100));

function shape(name, values = {}, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(values)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

/** A copy of a shape and all in it; null where nothing of it can be seen. */
function copied(one) {
  if (!(one.localName in LOOKS)) return null;
  const style = getComputedStyle(one);
  if (style.opacity === "0" || style.display === "none") return null;
  const leaf = one.localName !== "g";
  if (leaf && style.visibility !== "visible") return null;
  if (one.localName === "line" && style.strokeOpacity === "0") return null;
  const copy = shape(one.localName);
  for (const name of PLACES) if (one.hasAttribute(name)) copy.setAttribute(name, rounded(one.getAttribute(name)));
  for (const [name, usual] of Object.entries({ ...LOOKS[one.localName], opacity: "1" })) {
    const value = style.getPropertyValue(name);
    if (value !== usual) copy.setAttribute(name, rounded(value));
  }
  for (const child of one.childNodes) {
    const inner = child.nodeType === Node.TEXT_NODE ? child.cloneNode() : child.nodeType === 1 ? copied(child) : null;
    if (inner) copy.append(inner);
  }
  return leaf || copy.childNodes.length ? copy : null;
}

/** What is drawn. */
function shapes() {
  showKept();
  return [...document.querySelector("#vis svg").children].map(copied).filter(Boolean);
}

/** The picture with its name above it, on the page's ground. */
function standalone() {
  const whole = shape("svg", { xmlns: "http://www.w3.org/2000/svg", role: "img" });
  const inner = shape("g");
  inner.append(...shapes());
  whole.append(inner);
  const holder = document.createElement("div");
  holder.className = "offstage"; // a shape is measured where it stands in a page
  holder.append(whole);
  document.body.append(holder);
  const box = inner.getBBox();
  const ink = getComputedStyle(document.body);
  const name = shape("text", { x: box.x, y: box.y - 10, fill: ink.color, "font-size": 14, "font-weight": 600 }, caption());
  name.setAttribute("font-family", "system-ui, sans-serif");
  whole.append(name);
  const all = whole.getBBox();
  holder.remove();
  const [left, top] = [all.x - MARGIN, all.y - MARGIN].map(Math.floor);
  const [width, height] = [all.width + 2 * MARGIN, all.height + 2 * MARGIN].map(Math.ceil);
  for (const [key, value] of Object.entries({ width, height, viewBox: `${left} ${top} ${width} ${height}` })) {
    whole.setAttribute(key, value);
  }
  const ground = { x: left, y: top, width, height, fill: ink.backgroundColor };
  const [told] = document.querySelector(".hint").textContent.split(". "); // what follows is about the pointer
  whole.prepend(shape("title", {}, caption()), shape("desc", {}, `${told}.`));
  inner.before(shape("rect", ground));
  return { text: new XMLSerializer().serializeToString(whole), width, height };
}

function caption() {
  const { layer, heads } = chosen();
  const some = heads.length && heads.length < PYTHON_PARAMS.include_heads.length;
  const told = [layer ? `layer ${layer}` : "", some ? `head${heads.length > 1 ? "s" : ""} ${heads.join(", ")}` : ""];
  const title = document.title.replace(/[^\t\n\r\u0020-\ufffd]/g, "\ufffd"); // XML cannot hold them, not even escaped
  return [title, told.filter(Boolean).join(", ")].filter(Boolean).join(" · ");
}

function download(blob, ending) {
  const { layer, heads } = chosen();
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = `${document.body.className}-view${layer ? `-layer${layer}` : ""}${
    heads.length === 1 ? `-head${heads[0]}` : ""}.${ending}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

document.getElementById("save-svg").addEventListener("click", () => {
  download(new Blob([standalone().text], { type: "image/svg+xml" }), "svg");
});
document.getElementById("save-png").addEventListener("click", () => {
  const { text, width, height } = standalone();
  const scale = Math.min(2, MOST_PIXELS / width, MOST_PIXELS / height);
  const picture = new Image();
  picture.onload = () => {
    const sheet = document.createElement("canvas");
    [sheet.width, sheet.height] = [width, height].map((side) => Math.round(side * scale));
    sheet.getContext("2d").drawImage(picture, 0, 0, sheet.width, sheet.height);
    sheet.toBlob((blob) => download(blob, "png"));
  };
  picture.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
});
