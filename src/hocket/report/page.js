// Tables whose cells have a key are sorted by the column whose heading is clicked, the other way round the next time;
// what a link or a point of a figure leads to is opened.
document.querySelectorAll("table.sorted").forEach((table) => {
  const body = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    head.tabIndex = 0;
    let direction = 1;
    const key = (row) => row.cells[column].dataset.key;
    const order = (a, b) => (isNaN(a) || isNaN(b) ? a.localeCompare(b) : a - b);
    const sort = () => {
      [...body.rows].sort((a, b) => direction * order(key(a), key(b))).forEach((row) => body.append(row));
      direction = -direction;
    };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", (event) => event.key === "Enter" && sort());
  });
});
const open = (anchor) => {
  const found = document.getElementById(anchor);
  if (!found || found.tagName !== "DETAILS") return;
  found.open = true;
  found.scrollIntoView({ block: "center" });
};
window.addEventListener("hashchange", () => open(location.hash.slice(1)));
open(location.hash.slice(1));
document.querySelectorAll(".plotly-graph-div").forEach((plot) => {
  plot.on?.("plotly_click", ({ points: [point] }) => point.customdata && open(String(point.customdata)));
});
