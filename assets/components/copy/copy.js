export default function (component) {
  const { parentElement } = component;
  const button = parentElement.querySelector("button");
  const status = parentElement.querySelector("[role=status]");
  button.onclick = async () => {
    const link = window.location.href;
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
}
