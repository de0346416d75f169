// Runs before the first paint so that a chosen theme never flashes. A file of its own: the page allows no inline script.
try {
  const theme = localStorage.getItem("laxity.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // storage is blocked: the system's preference decides
}
