/* Sliders, bars, thumbnails and the pad. Whatever names say, they go in as text. */
"use strict";

const STEP = 0.1, FINE = 0.01;
const SIGNS = { play: "▶", pause: "❚❚", swap: "⇄" };

/** Returns an element with attributes and children; texts stay texts. */
function element(tag, attributes = {}, ...content) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null && value !== undefined) made.setAttribute(name, value);
  made.append(...content);
  return made;
}

const button = (text, label, press, attributes = {}) => {
  const made = element("button", { type: "button", "aria-label": label, title: label, ...attributes }, text);
  made.addEventListener("click", press);
  return made;
};

const rounded = (value) => (Math.abs(value) < 0.005 ? 0 : value).toFixed(2);
const decimals = (value) => rounded(value).replace("-", "−");
const percent = (share) => `${Math.round(100 * share)} %`;

/** What to call a latent: by its number, and by the factors that it follows. */
const nameOf = (latent, number) => [`z${number}`, latent.follows.join(" and ")].filter(Boolean).join(", ");

/** Returns bars of what share of each factor a latent knows, with a text that says the same. */
function barsOf(latent, factors) {
  const known = latent.shares.map((share, k) => [share, k]).filter(([share]) => share !== null);
  if (known.length === 0) return "";
  const said = known.map(([share, k]) => `${factors[k]} ${percent(share)}`).join(", ");
  const bars = element("span", { class: "bars", role: "img", "aria-label": `informative about ${said}`, title: said });
  for (const [share, k] of known) {
    const bar = element("span", { class: `bar f${k % 7}` }, element("span", {}));
    bar.firstChild.style.height = `${Math.max(4, 100 * Math.min(1, share))}%`;
    bars.append(bar);
  }
  return bars;
}

/** Returns the controls of one latent: `row` is the list item, and `show` brings it in line with the state. */
function latentControl(state, number, key, page) {
  const latent = state.models[0].latents[number], name = nameOf(latent, number);
  const row = element("li", { class: "latent", "data-latent": number });
  const play = button(SIGNS.play, `Play ${name}`, () => page.play(number), { class: "play", "aria-pressed": "false" });
  const swap = button(SIGNS.swap, `Swap ${name} with the second image`, () => { state.swap(number); page.changed(); }, { class: "swap", hidden: "" });
  const nats = latent.nats === null ? "" : element("span", { class: "nats", title: "information about the image" }, `${latent.nats.toFixed(2)} nats`);
  const head = element("div", { class: "head" }, key === null ? "" : element("kbd", {}, key), element("b", {}, `z${number}`),
    element("span", { class: "follows" }, latent.follows.join(" and ") || (latent.unused ? "unused" : "")), nats, barsOf(latent, page.factors));
  row.addEventListener("focusin", () => page.choose(number));
  row.addEventListener("pointerdown", () => page.choose(number));
  const show = latent.categories ? categoryButtons(state, number, name, row, head, swap, page) : sliderOf(state, number, name, row, head, play, swap, page);
  return { row, number, show(playing) {
    show();
    swap.hidden = state.second === null;
    play.textContent = playing ? SIGNS.pause : SIGNS.play;
    play.setAttribute("aria-pressed", String(playing));
    play.setAttribute("aria-label", `${playing ? "Stop" : "Play"} ${name}`);
    row.classList.toggle("chosen", state.chosen === number);
  } };
}

/** Fills the row of a discrete latent: a button for each category. */
function categoryButtons(state, number, name, row, head, swap, page) {
  const latent = state.models[0].latents[number];
  const buttons = Array.from({ length: latent.categories }, (_, category) =>
    button(String(category), `${name}: category ${category}`, () => { state.move(number, category); page.changed(); }));
  row.append(head, element("div", { class: "categories", role: "group", "aria-label": name }, ...buttons, swap));
  return () => buttons.forEach((each, category) => each.setAttribute("aria-pressed", String(state.values[number] === category)));
}

/** Fills the row of a continuous latent: play, slider with the posterior behind it, number. */
function sliderOf(state, number, name, row, head, play, swap, page) {
  const latent = state.models[0].latents[number];
  const range = element("input", { type: "range", min: latent.low, max: latent.high, step: FINE, "aria-label": name });
  const entry = element("input", { type: "number", step: STEP, "aria-label": `${name}, as a number` });
  const band = element("span", { class: "band" }), mark = element("span", { class: "mark", title: "the second image" });
  range.addEventListener("input", () => { state.move(number, Number(range.value)); page.changed(entry); });
  entry.addEventListener("input", () => { if (entry.value !== "") { state.move(number, Number(entry.value)); page.changed(entry); } });
  entry.addEventListener("change", () => page.changed());
  row.append(head, element("div", { class: "control" }, play, element("div", { class: "track" }, band, mark, range), entry, swap));
  let low = latent.low, high = latent.high;
  const place = (value) => (Math.min(high, Math.max(low, value)) - low) / (high - low);
  return () => {
    const value = state.values[number], width = page.widthAt(number);
    // Beyond its ends the slider grows, to whole numbers.
    if (value < low || value > high) {
      low = Math.min(low, Math.floor(value)); high = Math.max(high, Math.ceil(value));
      range.min = low; range.max = high;
    }
    range.value = value;
    range.setAttribute("aria-valuetext", decimals(value));
    if (document.activeElement !== entry) entry.value = rounded(value);
    row.classList.toggle("moved", Math.abs(value - state.startValues[number]) > 5e-3);
    band.hidden = width === null;
    if (width !== null) {
      const from = place(state.startValues[number] - 2 * width), to = place(state.startValues[number] + 2 * width);
      band.style.left = `${100 * from}%`;
      band.style.width = `${100 * (to - from)}%`;
      band.title = `95 % of the posterior: ${decimals(state.startValues[number])} ± ${decimals(2 * width)}`;
    }
    mark.hidden = state.second === null;
    if (state.second !== null) mark.style.left = `${100 * place(state.secondValues[number])}%`;
  };
}

/** Returns a strip of pictures to begin at: the originals, or else what is decoded from their codes, one by one. */
function thumbnails(state, originals, shape, labels, page) {
  const size = shape[0] * shape[1] * shape[2], picture = new Float32Array(size);
  const canvases = Array.from({ length: state.count }, () => makeCanvas(shape, ""));
  const paint = (image) => {
    if (originals) for (let p = 0; p < size; p++) picture[p] = originals[image * size + p] / 255;
    else page.decodeStart(image, picture);
    canvases[image].paint(picture);
  };
  const paintAll = async () => { for (let image = 0, since = performance.now(); image < state.count; image++) { paint(image); since = await breathe(since); } };
  paintAll();
  return canvases.map(({ canvas }, image) => {
    canvas.setAttribute("aria-hidden", "true");
    return button(canvas, `Image ${image + 1}${labels[image] ? `: ${labels[image]}` : ""}`, () => page.pick(image));
  });
}

/** Makes the pad: two latents at once, moved by a pointer or by the arrow keys. */
function makePad(state, area, across, down, page) {
  const names = state.models[0].latents.map((latent, number) => ({ latent, number })).filter(({ latent }) => !latent.categories);
  names.sort((a, b) => a.latent.place - b.latent.place);
  for (const select of [across, down]) select.append(...names.map(({ latent, number }) => element("option", { value: number }, nameOf(latent, number))));
  // What moves things across the image goes across, if anything does; else the two latents that say most.
  const along = (axis) => names.find(({ latent }) => latent.follows.some((factor) => factor.endsWith(` ${axis}`)));
  const both = [along("x"), along("y")];
  const start = both[0] && both[1] && both[0] !== both[1] ? both : [names[0], names[Math.min(1, names.length - 1)]];
  state.pad = start.map(({ number }) => number);
  [across.value, down.value] = state.pad.map(String);
  const dot = element("span", { class: "dot" }), crowd = element("span", { class: "crowd" });
  area.append(crowd, dot);
  const ends = (number) => { const { low, high } = state.models[0].latents[number]; return [low, high]; };
  const share = (number, value) => { const [low, high] = ends(number); return Math.min(1, Math.max(0, (value - low) / (high - low))); };
  const put = (made, values) => {
    made.style.left = `${100 * share(state.pad[0], values[state.pad[0]])}%`;
    made.style.top = `${100 - 100 * share(state.pad[1], values[state.pad[1]])}%`;
  };
  const people = () => crowd.replaceChildren(...Array.from({ length: state.count }, (_, image) => {
    const made = element("span", {});
    put(made, valuesAt(state.models[0], image));
    return made;
  }));
  const drag = (event) => {
    const box = area.getBoundingClientRect();
    const shares = [(event.clientX - box.left) / box.width, 1 - (event.clientY - box.top) / box.height];
    state.pad.forEach((number, axis) => { const [low, high] = ends(number); state.move(number, low + Math.min(1, Math.max(0, shares[axis])) * (high - low)); });
    page.changed();
  };
  area.addEventListener("pointerdown", (event) => { area.setPointerCapture(event.pointerId); area.focus(); drag(event); event.preventDefault(); });
  area.addEventListener("pointermove", (event) => { if (area.hasPointerCapture(event.pointerId)) drag(event); });
  area.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowDown: [1, -1], ArrowUp: [1, 1] }[event.key];
    if (!step) return;
    state.move(state.pad[step[0]], state.values[state.pad[step[0]]] + step[1] * STEP * (event.shiftKey ? 10 : 1));
    page.changed();
    event.preventDefault(); event.stopPropagation();
  });
  for (const select of [across, down]) select.addEventListener("change", () => { state.pad = [Number(across.value), Number(down.value)]; people(); page.changed(); });
  people();
  return () => {
    put(dot, state.values);
    const said = state.pad.map((number) => `${nameOf(state.models[0].latents[number], number)} ${decimals(state.values[number])}`).join("; ");
    area.setAttribute("aria-valuetext", said);
    area.setAttribute("aria-valuenow", rounded(state.values[state.pad[0]]));
  };
}
