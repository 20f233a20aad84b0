// Downloads of a chart: what plotly has drawn on the page as one SVG picture, as PNG, and as a page with its table.
// The CSV is written in Python (core/table.py).

const SVG = "http://www.w3.org/2000/svg";
const XLINK = "http://www.w3.org/1999/xlink";
const LEFT_OUT = ".draglayer, .hoverlayer, .zoomlayer, .selectionlayer, .modebar-container";

const escaped = (text) =>
  text.replace(/[&<>"]/g, (mark) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[mark]);

/** What is below the element of that key; Streamlit makes a class of a key. */
const below = (key, what) =>
  [...(document.getElementsByClassName(`st-key-${key.trim().replace(/[^a-zA-Z0-9_-]/g, "-")}`)[0]?.querySelectorAll(what) ?? [])];
const chart = (key) => below(key, ".js-plotly-plot")[0];
const component = (key) => below(key, "*").find((one) => one.shadowRoot)?.shadowRoot;

/** Has a component, or the page in a frame, save its own drawing. */
function ask(key, kind) {
  const [frame] = below(key, "iframe");
  if (frame) frame.contentWindow.postMessage({ save: kind }, "*");
  else component(key)?.querySelector(`button.${kind}`).click();
}

/** The rows of a component's table, as they stand and change. */
function mirror(place, key, name) {
  const source = component(key)?.querySelector(".rows");
  place.following?.disconnect();
  place.hidden = !source;
  if (!source) return;
  place.setAttribute("aria-label", name);
  const copy = () => place.replaceChildren(...[...source.childNodes].map((node) => node.cloneNode(true)));
  place.following = new MutationObserver(copy);
  place.following.observe(source, { childList: true });
  copy();
}

/** Plotly draws on several sheets, one above the other: here they are one, on the page's own ground. */
function standalone(plot, data, ground) {
  const sheets = [...plot.querySelectorAll(".main-svg")];
  const [width, height] = ["width", "height"].map((side) => Number(sheets[0].getAttribute(side)));
  const whole = document.createElementNS(SVG, "svg");
  for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}`, role: "img" })) {
    whole.setAttribute(name, value);
  }
  for (const [name, text] of [["title", data.title], ["desc", data.alt]]) {
    whole.append(Object.assign(document.createElementNS(SVG, name), { textContent: text }));
  }
  const back = document.createElementNS(SVG, "rect");
  for (const [name, value] of Object.entries({ width, height, fill: ground })) back.setAttribute(name, value);
  whole.append(back);
  for (const sheet of sheets) whole.append(...[...sheet.childNodes].map((node) => node.cloneNode(true)));
  whole.querySelectorAll(LEFT_OUT).forEach((one) => one.remove());
  whole.querySelectorAll("image").forEach((one) => {
    // A page of HTML knows the plain name alone.
    const address = one.getAttributeNS(XLINK, "href");
    one.removeAttributeNS(XLINK, "href");
    if (address) one.setAttribute("href", address);
  });
  return { text: new XMLSerializer().serializeToString(whole), width, height };
}

function table({ columns, rows, more }) {
  if (!columns.length) return "";
  const line = (cells, tag) => `<tr>${cells.map((cell) => `<${tag}>${escaped(cell)}</${tag}>`).join("")}</tr>`;
  const rest = more ? `<p>The CSV file has ${more} more rows.</p>` : "";
  return `<table><thead>${line(columns, "th")}</thead><tbody>${rows.map((row) => line(row, "td")).join("")}</tbody>
</table>${rest}`;
}

function wholePage(picture, data, ink, ground) {
  const link = data.csv
    ? `<p><a download="${escaped(data.name)}.csv" href="data:text/csv;charset=utf-8,${encodeURIComponent(data.csv)}">
Download CSV</a></p>` : "";
  return `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>${escaped(data.title)}</title>
<style>body{font-family:system-ui,sans-serif;margin:1.5rem;color:${ink};background:${ground};line-height:1.5}
svg{max-width:100%;height:auto}a{color:inherit}table{border-collapse:collapse;font-size:.9rem}
th,td{text-align:left;padding:.2rem .8rem .2rem 0;border-bottom:1px solid #8886}div{overflow-x:auto}</style></head>
<body><h1>${escaped(data.title)}</h1><p>${escaped(data.alt)}</p><div>${picture.text}</div>
${link}<div>${table(data.table)}</div></body></html>
`;
}

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function savePng({ text, width, height }, name) {
  const image = new Image();
  image.onload = () => {
    const sheet = document.createElement("canvas");
    [sheet.width, sheet.height] = [2 * width, 2 * height];
    sheet.getContext("2d").drawImage(image, 0, 0, sheet.width, sheet.height);
    sheet.toBlob((blob) => save(blob, name));
  };
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
}

function download(kind, data, status, root) {
  if (kind === "csv") {
    save(new Blob([data.csv], { type: "text/csv" }), `${data.name}.csv`);
    return;
  }
  const plot = chart(data.chart);
  if (!plot) {
    status.textContent = "The picture is not drawn yet. Try again in a moment.";
    return;
  }
  status.textContent = "";
  const style = getComputedStyle(root);
  const ground = style.getPropertyValue("--back");
  const picture = standalone(plot, data, ground);
  if (kind === "png") savePng(picture, `${data.name}.png`);
  else if (kind === "svg") save(new Blob([picture.text], { type: "image/svg+xml" }), `${data.name}.svg`);
  else {
    const text = wholePage(picture, data, style.getPropertyValue("--ink"), ground);
    save(new Blob([text], { type: "text/html" }), `${data.name}.html`);
  }
}

export default function ({ parentElement, data }) {
  const root = parentElement.querySelector(".export");
  const status = root.querySelector("[role=status]");
  root.querySelectorAll("button").forEach((button) => {
    button.onclick = () => (data.kinds ? ask(data.chart, button.value) : download(button.value, data, status, root));
    button.hidden = data.kinds ? !data.kinds.includes(button.value) : button.value === "csv" && !data.csv;
  });
  if (data.rows) mirror(root.querySelector(".rows"), data.chart, data.rows);
}
