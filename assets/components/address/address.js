// What the browser keeps of a view: its address, and the view itself for Home, in the tab's own storage.

export default function ({ data }) {
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
