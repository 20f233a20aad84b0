// A link that was followed before the log-in opens after it: Streamlit itself leads to Home.
const KEY = "atlas.return";

export default function (component) {
  const { data } = component;
  const here = window.location.pathname + window.location.search + window.location.hash;
  try {
    if (data.keep) {
      sessionStorage.setItem(KEY, here);
      return;
    }
    const there = sessionStorage.getItem(KEY);
    sessionStorage.removeItem(KEY);
    if (data.home && there && there !== here) window.location.replace(window.location.origin + there);
  } catch {
    // a browser without storage: the visitor is on Home
  }
}
