// The picture as SVG or PNG, made by the browser as it stands: theme, year and line included.

const KEPT = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "opacity", "fill-opacity",
  "paint-order", "font-family", "font-size", "font-weight", "text-anchor"];

function standalone(view) {
  const wide = view.data.drawings.find((one) => one.width >= 1000) || view.data.drawings.at(-1);
  const drawing = view.picture && view.picture.drawing.width > wide.width ? view.picture.drawing : wide;
  const copy = paint(view.data, drawing);
  const holder = element("div", "offstage");
  holder.append(copy.svg);
  view.root.append(holder);
  fit(copy);
  mark(view, copy);
  const { width, height } = copy.svg.viewBox.baseVal;
  copy.svg.querySelectorAll(".touch").forEach((one) => one.remove());
  copy.svg.querySelectorAll("*").forEach((one) => {
    const style = getComputedStyle(one);
    if (style.visibility === "hidden") one.setAttribute("display", "none");
    KEPT.forEach((name) => one.setAttribute(name, style.getPropertyValue(name)));
  });
  copy.svg.querySelectorAll("[display=none]").forEach((one) => one.remove());
  copy.svg.querySelectorAll("a").forEach((one) => {
    ["href", "tabindex", "role"].forEach((name) => one.removeAttribute(name)); // a picture leads nowhere
  });
  copy.svg.querySelectorAll("[class]").forEach((one) => one.removeAttribute("class"));
  copy.svg.prepend(drawn("rect", "", { width, height, fill: getComputedStyle(view.root).getPropertyValue("--back") }));
  copy.svg.setAttribute("xmlns", SVG);
  copy.svg.setAttribute("width", width);
  copy.svg.setAttribute("height", height);
  const text = new XMLSerializer().serializeToString(copy.svg);
  holder.remove();
  return { text, width, height };
}

function download(blob, name) {
  const link = element("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function saveSvg(view) {
  download(new Blob([standalone(view).text], { type: "image/svg+xml" }), "transformer-family.svg");
}

function savePng(view) {
  const { text, width, height } = standalone(view);
  const image = new Image();
  image.onload = () => {
    const sheet = element("canvas");
    sheet.width = 2 * width;
    sheet.height = 2 * height;
    sheet.getContext("2d").drawImage(image, 0, 0, sheet.width, sheet.height);
    sheet.toBlob((blob) => download(blob, "transformer-family.png"));
  };
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
}
