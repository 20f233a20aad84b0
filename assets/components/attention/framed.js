// In a frame of the app, whose menu Download asks for the files: there are no buttons for them here.

if (parent !== window) document.getElementById("saving").style.display = "none";
addEventListener("message", ({ source, data }) => {
  if (source === parent && source !== window && ["svg", "png"].includes(data?.save)) document.getElementById(`save-${data.save}`)?.click();
});
