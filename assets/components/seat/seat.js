// A tab's seat in a room outlives a reload, and a restart of the server, in the tab's own storage.
const KEY = "atlas.room";
const PAUSE = 5000; // milliseconds before it is sent again
let sent = -PAUSE;

export default function (component) {
  const { data, setTriggerValue } = component;
  if (window.self !== window.top) return; // a view inside another page
  try {
    if (data.seat) sessionStorage.setItem(KEY, JSON.stringify(data.seat));
    else if (data.left) sessionStorage.removeItem(KEY);
    else if (sessionStorage.getItem(KEY) && performance.now() - sent > PAUSE) {
      sent = performance.now();
      setTriggerValue("sent", JSON.parse(sessionStorage.getItem(KEY)));
    }
  } catch {
    // a browser without storage: a reload leaves the room
  }
}
