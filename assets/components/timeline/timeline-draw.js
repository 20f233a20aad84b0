// One layout as an SVG, and the same systems as a list. Texts go in with textContent alone; colors come from the theme.

// A marker of the same area whatever its shape: the radius is that of the circle.
function outline(shape, x, y, r) {
  if (shape === "square") {
    const half = r * 0.886;
    return `M${x - half} ${y - half}h${2 * half}v${2 * half}h${-2 * half}z`;
  }
  if (shape === "diamond") {
    const half = r * 1.253;
    return `M${x} ${y - half}L${x + half} ${y}L${x} ${y + half}L${x - half} ${y}z`;
  }
  if (shape === "triangle") {
    const side = r * 1.347;
    return `M${x} ${y - side * 1.04}L${x + side} ${y + side * 0.7}H${x - side}z`;
  }
  return `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
}

function marker(sign, x, y, r) {
  const group = drawn("g", "marker", {});
  if (sign.ring) group.append(drawn("path", "ring", { d: outline(sign.shape, x, y, r + 2.2), stroke: sign.ring }));
  const paint = sign.hollow ? { stroke: sign.color } : { fill: sign.color };
  group.append(drawn("path", sign.hollow ? "shape hollow" : "shape", { d: outline(sign.shape, x, y, r), ...paint }));
  return group;
}

function curve(from, to) {
  const half = (to[0] - from[0]) / 2;
  return `M${from[0]} ${from[1]}C${from[0] + half} ${from[1]} ${to[0] - half} ${to[1]} ${to[0]} ${to[1]}`;
}

function frame(svg, drawing) {
  const bottom = drawing.height;
  drawing.bands.forEach((band) => {
    const place = { x: 0, y: band.top, width: drawing.width, height: band.height, fill: band.color };
    svg.append(drawn("rect", "band", place));
  });
  drawing.years.forEach(([x, year]) => {
    svg.append(drawn("line", "grid", { x1: x, x2: x, y1: 20, y2: bottom }));
    svg.append(drawn("text", "tick", { x: x + 4, y: 15 }, year));
  });
  drawing.levels.forEach(([y, text]) => {
    if (text !== "none") svg.append(drawn("line", "grid", { x1: 54, x2: drawing.width, y1: y, y2: y }));
    svg.append(drawn("text", "tick level", { x: 50, y: y + 4 }, text === "none" ? "no size" : text));
  });
  if (drawing.levels.length) svg.append(drawn("text", "tick", { x: 62, y: 38 }, "parameters of the largest size"));
  drawing.bands.forEach((band) => svg.append(drawn("text", "heading", { x: 8, y: band.top + 20 }, band.title)));
}

function keyOf(svg, drawing) {
  drawing.key.forEach((sign) => {
    svg.append(marker(sign, sign.x, sign.y, sign.r));
    svg.append(drawn("text", "tick", { x: sign.x + sign.r + 6, y: sign.y + 4 }, sign.text));
  });
}

function node(one, mark) {
  const [x, y, r, low, left, top, width] = mark;
  const link = drawn("a", "node", { "aria-label": one.said, tabindex: -1 });
  if (one.href) link.setAttribute("href", one.href);
  else link.setAttribute("role", "img");
  if (low !== y) link.append(drawn("path", "stem", { d: `M${x} ${y}V${low}M${x - 4} ${low}h8`, stroke: one.color }));
  if (left !== undefined) {
    const [ex, ey] = [Math.min(Math.max(x, left), left + width), Math.min(Math.max(y, top), top + 16)];
    if (Math.hypot(ex - x, ey - y) > r + 10) link.append(drawn("path", "lead", { d: `M${ex} ${ey}L${x} ${y}` }));
    link.append(drawn("rect", "touch", { x: left - 2, y: top, width: width + 4, height: 16 }));
  }
  link.append(drawn("circle", "touch", { cx: x, cy: y, r: Math.max(r, 12) }), marker(one, x, y, r));
  if (left !== undefined) link.append(drawn("text", "name", { x: left, y: top + 12.4 }, one.name));
  return link;
}

// The drawing, its nodes in the order of the data, and its lines of descent, each with the number of its child.
function paint(data, drawing) {
  const whole = drawing.height + drawing.below;
  const svg = drawn("svg", "", { viewBox: `0 0 ${drawing.width} ${whole}`, role: "group", "aria-label": data.label });
  frame(svg, drawing);
  const edges = [];
  data.nodes.forEach((one, i) => {
    if (one.parent < 0) return;
    const [from, to] = [drawing.marks[one.parent], drawing.marks[i]];
    const path = drawn("path", "edge", { d: curve(from, to), stroke: one.color });
    path.atlas = i;
    edges.push(path);
    svg.append(path);
  });
  const now = drawn("line", "now", { y1: 20, y2: drawing.height });
  svg.append(now);
  const nodes = data.nodes.map((one, i) => node(one, drawing.marks[i]));
  svg.append(...nodes);
  keyOf(svg, drawing);
  return { svg, nodes, edges, now, drawing };
}

// A name that the visitor's font makes wider than its place is set closer together.
function fit(picture) {
  picture.nodes.forEach((link, i) => {
    const text = link.querySelector(".name");
    const width = picture.drawing.marks[i][6];
    if (text && text.getComputedTextLength() > width) {
      text.setAttribute("textLength", String(width));
      text.setAttribute("lengthAdjust", "spacingAndGlyphs");
    }
  });
}

// For narrow windows: the systems in the order of time, a year's heading before its first.
function listed(data) {
  const list = element("div", "years");
  const nodes = [];
  const groups = [];
  let year = "";
  let rows = null;
  data.nodes.forEach((one) => {
    const its = one.date.slice(-4);
    if (its !== year) {
      year = its;
      const heading = element("h3", "", year);
      rows = element("ul");
      list.append(heading, rows);
      groups.push({ heading, rows, at: one.at });
    }
    const row = element("li");
    const link = element("a", "node");
    if (one.href) link.href = one.href;
    link.setAttribute("aria-label", one.said);
    const sign = drawn("svg", "", { width: 20, height: 20, viewBox: "0 0 20 20", "aria-hidden": "true" });
    sign.append(marker(one, 10, 10, 6));
    const from = one.from ? "from " + one.from : "";
    link.append(sign, element("span", "name", one.name), element("span", "of", from), element("span", "size", one.size || "–"));
    row.append(link);
    rows.append(row);
    nodes.push(link);
  });
  return { list, nodes, groups };
}
