// How far this browser has come in a lesson, and a button that goes on there. Nothing of it leaves the browser before
// the button is pressed.

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const [bar, text, button] = [".bar", ".text", "button"].map((name) => parentElement.querySelector(name));
  let known = null;
  try {
    known = JSON.parse(localStorage.getItem("atlas.lessons") || "{}")[data.lesson] || null;
  } catch { /* nothing stored */ }
  const far = known ? Math.min(Number(known.far) || 0, data.steps) : 0;
  const at = known ? Math.min(Math.max(Number(known.at) || 1, 1), data.steps) : 1;
  bar.hidden = button.hidden = !far;
  bar.firstElementChild.style.width = `${(100 * far) / data.steps}%`;
  text.textContent = far ? `${far} of ${data.steps} steps` : data.begin;
  button.textContent = far === data.steps && at === data.steps ? "Again" : `Continue at step ${at}`;
  button.onclick = () => setTriggerValue("sent", {
    count: data.count + 1, step: far === data.steps && at === data.steps ? 1 : at,
  });
}
