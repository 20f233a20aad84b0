export default function (component) {
  const { parentElement, data } = component;
  const button = parentElement.querySelector("button");
  const status = parentElement.querySelector("[role=status]");
  button.onclick = async () => {
    const link = window.location.href.replace(/([?&])(present|embed)=\w+(&|$)/g, (_, mark, name, after) => (after ? mark : ""));
    try {
      await navigator.clipboard.writeText(link);
      status.textContent = "Copied";
    } catch {
      const area = document.createElement("textarea");
      area.value = link;
      document.body.append(area);
      area.select();
      status.textContent = document.execCommand("copy") ? "Copied" : "Copy the address from the address bar";
      area.remove();
    }
    setTimeout(() => { status.textContent = ""; }, 3000);
  };
  // The visitor's sentence arrived: the address carries it, too, without a step of Back. An address that changed since
  // is left alone.
  const same = (query) => new URLSearchParams(query).toString() === new URLSearchParams(window.location.search).toString();
  if (data.replace && same(data.replace.old)) {
    const query = data.replace.new ? `?${data.replace.new}` : "";
    window.history.replaceState(window.history.state, "", window.location.pathname + query);
  }
  if (data.view) {
    try {
      localStorage.setItem("atlas.view", JSON.stringify(data.view));
    } catch { /* a browser that stores nothing */ }
  }
}
