export default function ({ parentElement }) {
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
}
