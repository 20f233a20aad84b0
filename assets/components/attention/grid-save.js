// The picture that is shown as a PNG, made by the browser: nothing is asked for and nothing is sent.

by("save-png").addEventListener("click", () => {
  const shownNow = by(state.open ? "one" : "all");
  const sheet = document.createElement("canvas");
  sheet.width = shownNow.width;
  sheet.height = shownNow.height;
  const pen = sheet.getContext("2d");
  pen.fillStyle = theme.back; // the canvas of the page is clear where nothing is drawn
  pen.fillRect(0, 0, sheet.width, sheet.height);
  pen.drawImage(shownNow, 0, 0);
  sheet.toBlob((picture) => {
    const link = element("a");
    link.href = URL.createObjectURL(picture);
    link.download = state.open ? `attention-layer${state.layer + 1}-head${state.head + 1}.png` : "attention-all-heads.png";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  });
});
