// A link whose view has moved: the view's address takes the place of its own, so that Back and Forward lead there, and
// the app goes there as by Back. How a page is shown (in a frame, in a lecture hall) stays.
export default function ({ data }) {
  const here = new URL(window.location.href);
  const there = new URL(data.to, here);
  const same = (name) => here.searchParams.get(name) === data.old[name];
  if (here.pathname !== data.path || !Object.keys(data.old).every(same)) return; // it has left already
  for (const name of ["embed", "present"]) {
    if (here.searchParams.has(name)) there.searchParams.set(name, here.searchParams.get(name));
  }
  window.history.replaceState(window.history.state, "", there);
  window.dispatchEvent(new PopStateEvent("popstate"));
}
