"use strict";
// Sorts tables, chooses the measure that sorts and colors, opens the card of a model, and enlarges figures. The page
// reads without it.

const numberOf = (text) => {
  const found = text.replaceAll("\u2212", "-").replaceAll(",", "").match(/^\s*(-?[\d.]+(?:e[+-]?\d+)?)/i);
  return found ? Number(found[1]) : NaN;
};

const compared = (one, other) => {
  const [a, b] = [numberOf(one), numberOf(other)];
  if (Number.isNaN(a) && Number.isNaN(b)) return one.localeCompare(other);
  return a - b;
};

// What has no value comes last, whichever way the rest is sorted.
const isMissing = (text) => text.trim() === "" || text.trim().startsWith("\u2013");

const sortBy = (table, column, ascending) => {
  const body = table.tBodies[0];
  const text = (row) => row.cells[column].textContent.trim();
  const rows = [...body.rows].sort((one, other) => {
    const [a, b] = [text(one), text(other)];
    if (isMissing(a) || isMissing(b)) return isMissing(a) - isMissing(b);
    return ascending ? compared(a, b) : compared(b, a);
  });
  body.append(...rows);
  [...table.tHead.rows[0].cells].forEach((head, place) => {
    if (place === column) head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    else head.removeAttribute("aria-sort");
  });
  return rows;
};

const makeSortable = (table) => {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const now = head.getAttribute("aria-sort");
      const first = head.classList.contains("number") && !head.textContent.includes("\u2193") ? "descending" : "ascending";
      const next = now === null ? first : now === "ascending" ? "descending" : "ascending";
      sortBy(table, column, next === "ascending");
    });
  });
};

const color = (rows, column, lowerIsBetter) => {
  const values = rows.map((row) => numberOf(row.cells[column].textContent));
  const known = values.filter((value) => !Number.isNaN(value));
  const [low, high] = [Math.min(...known), Math.max(...known)];
  rows.forEach((row, place) => {
    for (const cell of row.querySelectorAll(".heated")) {
      cell.classList.remove("heated", "strong");
      cell.style.removeProperty("--share");
    }
    const share = high > low && !Number.isNaN(values[place]) ? (values[place] - low) / (high - low) : 0;
    const cell = row.cells[column];
    cell.classList.add("heated");
    cell.classList.toggle("strong", (lowerIsBetter ? 1 - share : share) >= 2 / 3);
    cell.style.setProperty("--share", lowerIsBetter ? 1 - share : share);
  });
};

const choose = (place) => {
  for (const figure of document.querySelectorAll(".by")) figure.hidden = figure.dataset.measure !== String(place);
  const table = document.getElementById("every");
  const column = place + 2;
  const lowerIsBetter = table.tHead.rows[0].cells[column].textContent.includes("\u2193");
  const rows = sortBy(table, column, lowerIsBetter);
  color(rows, column, lowerIsBetter);
  for (const row of rows) {
    const card = document.getElementById(`m${row.dataset.m}`);
    card.querySelector("summary .number").textContent = row.cells[column].textContent;
    card.parentElement.append(card);
  }
  const names = document.querySelectorAll(".sorted-by");
  for (const name of names) name.textContent = document.getElementById("measure").selectedOptions[0].text;
};

const openCard = (id) => {
  const card = document.getElementById(id);
  if (!card || !card.classList.contains("card")) return;
  card.open = true;
  card.scrollIntoView({ block: "start" });
};

const enlarge = (element) => {
  const dialog = document.getElementById("large");
  const copy = element.cloneNode(true);
  copy.removeAttribute("tabindex");
  copy.classList.remove("enlarge");
  const holder = dialog.querySelector("div");
  const moving = element.closest(".moving");
  holder.className = moving ? moving.className.replace("moving", "enlarged moving") : "enlarged";
  holder.style.cssText = moving ? `${moving.style.cssText}display:block` : "";
  const caption = document.createElement("p");
  caption.className = "large-caption";
  caption.textContent = element.getAttribute("alt") || element.getAttribute("aria-label") || "";
  holder.replaceChildren(copy, caption);
  dialog.showModal();
};

document.querySelectorAll("table.sortable").forEach(makeSortable);
document.querySelector(".chooser").hidden = document.getElementById("measure").length < 2;
document.getElementById("measure").addEventListener("change", (event) => choose(event.target.selectedIndex));
for (const element of document.querySelectorAll(".enlarge")) {
  element.tabIndex = 0;
  element.setAttribute("aria-haspopup", "dialog");
}
for (const dot of document.querySelectorAll("circle[data-m]")) {
  dot.setAttribute("role", "link");
  const card = document.getElementById(`m${dot.dataset.m}`);
  if (dot.firstElementChild || !card) continue;
  const title = document.createElementNS("http://www.w3.org/2000/svg", "title");
  title.textContent = card.querySelector("summary span:not(.key)").textContent.trim();
  dot.append(title);
}
document.addEventListener("click", (event) => {
  const dot = event.target.closest("circle[data-m]");
  if (dot) {
    location.hash = `m${dot.dataset.m}`;
    openCard(`m${dot.dataset.m}`);
    return;
  }
  const link = event.target.closest("a[href^='#m']");
  if (link) openCard(link.getAttribute("href").slice(1));
  const dialog = event.target.closest("dialog");
  if (dialog && event.target === dialog) dialog.close();
  const element = event.target.closest(".enlarge");
  if (element && !dialog) enlarge(element);
});
document.addEventListener("keydown", (event) => {
  if ((event.key === "Enter" || event.key === " ") && event.target.classList.contains("enlarge")) {
    event.preventDefault();
    enlarge(event.target);
  }
});
addEventListener("hashchange", () => openCard(location.hash.slice(1)));
openCard(location.hash.slice(1));
