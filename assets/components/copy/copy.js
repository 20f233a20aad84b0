export default function (component) {
  const { parentElement, data } = component;
  const button = parentElement.querySelector("button");
  const status = parentElement.querySelector("[role=status]");
  const tell = (text) => {
    status.textContent = text;
    clearTimeout(status.timer);
    status.timer = setTimeout(() => { status.textContent = ""; }, 3000);
  };
  button.onclick = async () => {
    const [page, query = ""] = window.location.href.split("?");
    const kept = query.split("&").filter((part) => part && !/^(present|embed)=/.test(part));
    const link = kept.length ? `${page}?${kept.join("&")}` : page;
    try {
      await navigator.clipboard.writeText(link);
      tell("Copied");
    } catch {
      const area = document.createElement("textarea");
      area.value = link;
      document.body.append(area);
      area.select();
      tell(document.execCommand("copy") ? "Copied" : "Copy the address from the address bar");
      area.remove();
    }
  };
  // The address is not the view's, which it shall be without a step of Back: the visitor's sentence has arrived, or what
  // was typed or refused, or the query of the page before. An address that changed since is left alone.
  const same = (query) => new URLSearchParams(query).toString() === new URLSearchParams(window.location.search).toString();
  if (data.old?.some(same)) {
    const query = data.query ? `?${data.query}` : "";
    window.history.replaceState(window.history.state, "", window.location.pathname + query);
  }
  if (data.page) {
    const { page, tab, query } = data;
    try {
      sessionStorage.setItem("atlas.view", JSON.stringify({ page, tab, query }));
    } catch { /* a browser that stores nothing */ }
  }
}
