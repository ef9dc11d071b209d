"use strict";
// The colour scheme: the system's until the button says otherwise; the choice is kept where the browser lets a page:
// in its place in the history, for of what a file stored Chromium forgets some when the page is loaded again, and stored
// for other pages and later.
const root = document.documentElement;
const theme = document.getElementById("theme");
const system = matchMedia("(prefers-color-scheme: dark)");
const kept = (value) => {
  try {
    if (value) {
      history.replaceState({ theme: value }, "");
      localStorage.setItem("hocket-theme", value);
    }
    return history.state?.theme ?? localStorage.getItem("hocket-theme");
  } catch {
    return null;
  }
};
const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
const show = () => (theme.textContent = isDark() ? "Light colours" : "Dark colours");
if (["light", "dark"].includes(kept())) root.dataset.theme = kept();
theme.hidden = false;
theme.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  kept(root.dataset.theme);
  show();
});
system.addEventListener("change", show);
show();

// Tables are sorted by the column whose heading is clicked, the other way round the next time.
document.querySelectorAll("table.sorted").forEach((table) => {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const key = (row) => row.cells[column].dataset.key;
    head.querySelector("button").addEventListener("click", () => {
      const direction = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      heads.forEach((each) => each.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      const isText = [...body.rows].some((row) => isNaN(key(row)) && key(row) !== "-");
      const order = (a, b) => {
        if (isText) return a.localeCompare(b, undefined, { numeric: true });
        return (a === "-") - (b === "-") || a - b;
      };
      [...body.rows].sort((a, b) => direction * order(key(a), key(b))).forEach((row) => body.append(row));
    });
  });
});

// Of long tables the first rows are shown until all are asked for.
document.querySelectorAll("[data-open-rows]").forEach((box) => {
  const table = box.querySelector("table");
  const button = document.createElement("button");
  button.className = "rows";
  const words = () =>
    (button.textContent = table.classList.contains("short")
      ? `Show all ${table.tBodies[0].rows.length} rows`
      : `Show ${box.dataset.openRows} rows`);
  table.classList.add("short");
  words();
  button.addEventListener("click", () => {
    table.classList.toggle("short");
    words();
  });
  box.after(button);
});

// What a link or a mark of a chart leads to is opened.
const open = (anchor) => {
  const found = document.getElementById(anchor);
  if (!found || found.tagName !== "DETAILS") return;
  found.open = true;
  found.scrollIntoView({ block: "center" });
};
window.addEventListener("hashchange", () => open(location.hash.slice(1)));
open(location.hash.slice(1));
document.addEventListener("click", (event) => {
  const mark = event.target.closest("[data-opens]");
  if (mark) open(mark.dataset.opens);
});
window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((each) => (each.open = true)));

// Tips: of what is pointed at; in a chart that has the focus, arrow keys go from mark to mark, Enter opens, Escape ends.
const tip = document.getElementById("tip");
const tell = (words, x, y) => {
  tip.textContent = words;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 8))}px`;
  tip.style.top = `${y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 10) : y + 18}px`;
};
// What a row of heat says below the pointer; and how hot a part of a picture is in the frame that is shown.
const share = (mark, event) => {
  const row = mark.closest("[data-shares]");
  if (!row) return "";
  const shares = row.dataset.shares.split(" ");
  const box = row.getBoundingClientRect();
  const at = Math.floor(((event.clientX - box.left) / box.width) * shares.length);
  return `\n${shares[Math.max(0, Math.min(at, shares.length - 1))]} % here`;
};
const now = (mark) => {
  const slider = mark.closest("figure")?.querySelector(".player input");
  if (!slider || !mark.dataset.frames || slider.value === "0") return "";
  const level = mark.dataset.frames.charCodeAt(Number(slider.value)) - 97;
  const percent = (of) => Math.round((100 * of) / 9);
  return `\nnow ${level ? `${percent(level - 1)} to ${percent(level)}` : "0"} %`;
};
document.addEventListener("pointermove", (event) => {
  const mark = event.target.closest?.("[data-tip]");
  if (mark) tell(mark.dataset.tip + now(mark) + share(event.target, event), event.clientX, event.clientY);
  else tip.hidden = true;
});
document.querySelectorAll("svg.chart[tabindex]").forEach((chart) => {
  const marks = () => [...chart.querySelectorAll("[data-tip]")];
  let at = -1;
  const leave = () => {
    marks()[at]?.classList.remove("at");
    tip.hidden = true;
  };
  chart.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const all = marks();
    if (step) {
      event.preventDefault();
      all[at]?.classList.remove("at");
      at = Math.max(0, Math.min(at + step, all.length - 1));
      all[at].classList.add("at");
      const box = all[at].getBoundingClientRect();
      tell(all[at].dataset.tip + now(all[at]), box.left + box.width / 2, box.bottom - 10);
    } else if (event.key === "Enter" && all[at]) {
      const opens = all[at].closest("[data-opens]");
      if (opens) open(opens.dataset.opens);
    } else if (event.key === "Escape") leave();
  });
  chart.addEventListener("blur", leave);
});

// Pictures that move: each part has a letter a frame, the colour of its heat (a to j), or what it has received.
document.querySelectorAll("[data-player]").forEach((player) => {
  const slider = player.querySelector("input");
  const output = player.querySelector("output");
  const button = player.querySelector("button");
  const times = player.dataset.player.split("|");
  const parts = [...player.parentElement.querySelectorAll("[data-frames]")];
  let timer = 0;
  const draw = () => {
    const at = Number(slider.value);
    output.textContent = times[at];
    slider.setAttribute("aria-valuetext", times[at]);
    for (const part of parts) {
      const level = part.dataset.frames.charCodeAt(at) - 97;
      for (let each = 0; each < 10; each++) part.classList.toggle(`h${each}`, each === level);
    }
  };
  const stop = () => {
    clearInterval(timer);
    timer = 0;
    button.textContent = "Play";
  };
  const advance = () => {
    slider.value = Number(slider.value) + 1;
    draw();
    if (slider.value === slider.max) stop();
  };
  button.addEventListener("click", () => {
    if (timer) return stop();
    if (slider.value === slider.max) slider.value = 0;
    button.textContent = "Pause";
    timer = setInterval(advance, 140);
  });
  slider.addEventListener("input", draw);
  draw();
});
