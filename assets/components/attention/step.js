// What can be chosen, as two buttons and what is chosen between them. The select that holds the choice, as bertviz's
// scripts ask for one, has no place on the page. Arrow keys move as in a row of choices.

const steps = [...document.querySelectorAll(".step")].map((group) => {
  const select = group.querySelector("select");
  const show = () => {
    group.querySelector(".now").textContent = select.selectedOptions[0]?.textContent ?? "";
  };
  const move = (by) => {
    const count = select.options.length;
    select.selectedIndex = (select.selectedIndex + by + count) % count;
    select.dispatchEvent(new Event("change", { bubbles: true }));
  };
  const [before, after] = group.querySelectorAll("button");
  before.addEventListener("click", () => move(-1));
  after.addEventListener("click", () => move(1));
  group.addEventListener("keydown", ({ key }) => {
    if (key === "ArrowLeft") move(-1);
    if (key === "ArrowRight") move(1);
  });
  new MutationObserver(show).observe(select, { childList: true, subtree: true });
  return show;
});

const showSteps = () => steps.forEach((show) => show());
document.addEventListener("change", showSteps);
showSteps();
