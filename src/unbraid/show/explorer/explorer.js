/* The page: it reads its data, builds its controls, and paints whenever something changes. */
"use strict";

const byId = (id) => document.getElementById(id);

/** Makes the page come alive, and returns what a test may look at. */
async function explore() {
  const said = JSON.parse(byId("data").textContent);
  const [tensors, ...models] = await Promise.all([tensorsOf(said.packed), ...said.models.map((model) => loadModel(model, said.shape))]);
  const first = models[0], state = makeState(models, said.starts.count), shape = said.shape;
  const originals = said.starts.originals ? tensors[said.starts.originals] : null;
  const onlyFrames = models.every((model) => model.frames);
  let playing = null, addressTimer = null, picksSecond = false;

  // ------------------------------------------------------------------------------------------------------ pictures
  const figures = models.map((model) => {
    const main = makeCanvas(shape, ""), second = makeCanvas(shape, "Picture of the second image");
    const partner = element("p", { class: "partner" }), score = model.score === null ? "" : element("span", { class: "score" }, ` MIG ${model.score.toFixed(3)} `);
    const badge = model.badge ? element("span", { class: "badge", title: model.badge }, "collapsed") : "";
    const figure = element("figure", {}, main.canvas, element("figcaption", {}, element("b", {}, model.name), score, badge, partner));
    const other = element("figure", { class: "second", hidden: "" }, second.canvas, element("figcaption", {}, "second image"));
    byId("models").append(models.length > 1 ? element("div", { class: "pair" }, figure, other) : figure);
    if (models.length === 1) byId("beside").append(other);
    return { model, main, second, other, partner };
  });
  byId("models").style.setProperty("--columns", [1, 1, 2, 3, 2, 3, 3, 4, 4, 3][models.length] ?? 4); // even rows
  const beside = originals ? ["original", "reconstruction"].map((word) => {
    const made = makeCanvas(shape, `The ${word} of the start`), figure = element("figure", { class: "start" }, made.canvas, element("figcaption", {}, word));
    byId("beside").append(figure);
    return { ...made, figure };
  }) : [];
  const scratch = new Float32Array(first.size);

  /** Decodes values of the first model, as each model follows them. */
  function decodeFor(model, values, start, into) {
    if (!model.frames) decodeInto(model, state.valuesOf(model, values, start), into);
    else frameInto(model, typeof start === "number" ? start : 0, values === state.values ? state.moved : null, state.values[state.moved], into);
  }

  function paintBeside() {
    const image = typeof state.start === "number" ? state.start : null;
    beside.forEach(({ figure }) => { figure.hidden = image === null; });
    if (image === null || !beside.length) return;
    for (let p = 0; p < first.size; p++) scratch[p] = originals[image * first.size + p] / 255;
    beside[0].paint(scratch);
    beside[1].paint(first.before);
  }

  /** Decodes and paints all pictures. */
  function paint() {
    for (const { model, main, second, other, partner } of figures) {
      decodeFor(model, state.values, state.start, model.shown);
      if (state.difference) main.paintDifference(model.shown, model.before);
      else main.paint(model.shown);
      other.hidden = state.second === null;
      if (state.second !== null) {
        decodeFor(model, state.secondValues, state.second, scratch);
        second.paint(scratch);
      }
      const follower = model.partners && model.partners[state.chosen];
      partner.textContent = follower ? `moves its z${follower.latent} (${follower.categories.length ? "agreement" : "correlation"} ${decimals(follower.correlation)})` : "";
    }
  }

  function newStart() {
    for (const model of models) decodeFor(model, state.startValues, state.start, model.before);
    paintBeside();
    describe();
  }

  // ------------------------------------------------------------------------------------------------------ controls
  const page = {
    factors: said.factors,
    changed() { paint(); showControls(); rememberSoon(); },
    choose(number) { if (state.chosen !== number) { state.chosen = number; paint(); showControls(); } },
    play(number) { setPlaying(playing === number ? null : number); },
    pick(image) { if (picksSecond) state.pair(state.second === image ? null : image); else begin(image); page.changed(); },
    decodeStart(image, into) { decodeFor(first, valuesAt(first, image), image, into); },
    /** The standard deviation of a latent's posterior: of the start image, or the mean over those that are here. */
    widthAt(number) {
      if (!first.widths) return null;
      if (typeof state.start === "number") return first.widths[state.start * first.continuous + number];
      let sum = 0;
      for (let image = 0; image < state.count; image++) sum += first.widths[image * first.continuous + number];
      return sum / state.count;
    },
  };

  const order = first.latents.map((_, number) => number).sort((a, b) => first.latents[a].place - first.latents[b].place);
  state.chosen = order[0];
  const controls = order.map((number, place) => latentControl(state, number, place < 9 ? String(place + 1) : place === 9 ? "0" : null, page));
  const usable = onlyFrames ? controls.filter(({ number }) => first.frames.latents.includes(number)) : controls;
  const used = usable.filter(({ number }) => !first.latents[number].unused);
  const rest = usable.filter((control) => !used.includes(control));
  byId("latents").append(...(used.length ? used : rest).map(({ row }) => row));
  if (used.length && rest.length) {
    byId("unused").hidden = false;
    byId("unused-count").textContent = rest.length === 1 ? "1 latent that the decoder barely uses" : `${rest.length} latents that the decoder barely uses`;
    byId("unused-latents").append(...rest.map(({ row }) => row));
  }
  const varies = (k) => first.latents.some((latent) => latent.shares[k] !== null && latent.shares[k] !== undefined);
  byId("factors").append(...said.factors.flatMap((name, k) => varies(k) ? [element("li", { class: `f${k % 7}` }, name)] : []));
  const strip = thumbnails(state, originals, shape, said.starts.labels, page);
  byId("starts").append(...(onlyFrames ? strip.slice(0, first.frames.starts) : strip));
  const showPad = onlyFrames || first.continuous < 2 ? null : makePad(state, byId("pad"), byId("across"), byId("down"), page);
  byId("pad-section").hidden = !showPad;

  function showControls() {
    for (const control of controls) control.show(playing === control.number);
    strip.forEach((each, image) => {
      each.setAttribute("aria-pressed", String(picksSecond ? state.second === image : state.start === image));
      each.classList.toggle("other", !picksSecond && state.second === image);
    });
    for (const [id, on] of [["mean", state.start === MEAN], ["random", state.start === RANDOM], ["difference", state.difference], ["swap", picksSecond || state.second !== null]])
      byId(id).setAttribute("aria-pressed", String(on));
    byId("swap-help").hidden = !picksSecond && state.second === null;
    if (showPad) showPad();
  }

  function describe() {
    const what = typeof state.start === "number" ? `image ${state.start + 1}${said.starts.labels[state.start] ? `, ${said.starts.labels[state.start]}` : ""}` : state.start === MEAN ? "the mean code" : "a random code";
    for (const { model, main } of figures) main.canvas.setAttribute("aria-label", `Picture that ${model.name} decodes, begun at ${what}`);
    byId("live").textContent = `Begun at ${what}.`;
  }

  function begin(start) { setPlaying(null); state.begin(start); newStart(); }

  // -------------------------------------------------------------------------------------------------- play and save
  function setPlaying(number) {
    const was = playing;
    playing = number;
    if (number !== null) {
      state.chosen = number;
      const { low, high } = first.latents[number], middle = (low + high) / 2, reach = (high - low) / 2;
      const phase = Math.asin(Math.min(1, Math.max(-1, (state.values[number] - middle) / reach)));
      let began = null;
      const frame = (now) => {
        if (playing !== number) return;
        began ??= now;
        state.move(number, middle + reach * Math.sin(phase + (now - began) / 900));
        page.changed();
        requestAnimationFrame(frame);
      };
      requestAnimationFrame(frame);
    }
    if (was !== number) showControls();
  }

  const canvases = () => figures.map(({ main }) => main.canvas);
  const fileName = (what) => `${first.name}-${what}`;
  const actions = {
    mean: () => begin(MEAN),
    random: () => begin(RANDOM),
    reset: () => { setPlaying(null); state.reset(); },
    difference: () => { state.difference = !state.difference; },
    swap: () => { picksSecond = !picksSecond && state.second === null; if (!picksSecond) state.pair(null); },
    png: () => savePng(canvases(), fileName(`z${state.chosen}`)),
    sweep: () => {
      const latent = first.latents[state.chosen], kept = state.values.slice(), moved = state.moved;
      setPlaying(null);
      const ends = latent.categories ? [0, latent.categories - 1] : [latent.low, latent.high];
      saveSweep(canvases(), (value) => { state.move(state.chosen, value); paint(); }, ...ends, fileName(`sweep-of-z${state.chosen}`));
      state.values = kept; state.moved = moved;
    },
  };
  for (const [id, act] of Object.entries(actions)) byId(id).addEventListener("click", () => { act(); page.changed(); });
  if (onlyFrames) for (const id of ["mean", "random", "swap"]) byId(id).hidden = true;

  // ------------------------------------------------------------------------------------------------------ keyboard
  const keys = { m: "mean", r: "random", d: "difference", s: "swap", Escape: "reset", Backspace: "reset" };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input[type=number], select, summary")) return;
    const place = "1234567890".indexOf(event.key);
    const isButton = event.target.matches("button");
    if (place >= 0 && place < order.length) chooseByKey(order[place]);
    else if (event.key === "ArrowLeft" || event.key === "ArrowRight") nudge((event.key === "ArrowRight" ? 1 : -1) * (event.shiftKey ? 1 : STEP));
    else if (event.key === "ArrowUp" || event.key === "ArrowDown") chooseByKey(order[Math.min(order.length - 1, Math.max(0, order.indexOf(state.chosen) + (event.key === "ArrowDown" ? 1 : -1)))]);
    else if (event.key === " " && !isButton && !first.latents[state.chosen].categories) page.play(state.chosen);
    else if (keys[event.key] && !byId(keys[event.key]).hidden) byId(keys[event.key]).click();
    else return;
    event.preventDefault();
  });

  function nudge(step) {
    const latent = first.latents[state.chosen], value = state.values[state.chosen];
    const next = latent.categories ? Math.min(latent.categories - 1, Math.max(0, value + Math.sign(step))) : value + step;
    setPlaying(null);
    state.move(state.chosen, next);
    page.changed();
  }

  function chooseByKey(number) {
    state.chosen = number;
    const row = controls.find((control) => control.number === number).row;
    if (row.closest("details")) row.closest("details").open = true;
    (row.querySelector("input[type=range]") ?? row.querySelector("[aria-pressed=true]") ?? row.querySelector("button"))?.focus();
    paint(); showControls();
  }

  // ------------------------------------------------------------------------------------------------------- address
  function rememberSoon() {
    clearTimeout(addressTimer);
    addressTimer = setTimeout(() => history.replaceState(null, "", `#${state.address()}`), 250);
  }
  function fromAddress() { setPlaying(null); state.restore(location.hash); newStart(); paint(); showControls(); }
  addEventListener("hashchange", fromAddress);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);

  fromAddress();
  return { state, models, page };
}

/** Compares every model with Python, and shows the result. */
async function check(models) {
  const checked = models.filter((model) => model.graph);
  for (const model of checked) model.check = await proven(model);
  if (!checked.length) { byId("proof").textContent = "Frames decoded by Python."; return; }
  const worst = checked.reduce((a, b) => b.check.largest / b.check.limit > a.check.largest / a.check.limit || Number.isNaN(b.check.largest) ? b : a);
  const fine = checked.every((model) => model.check.fine), { largest, limit } = worst.check;
  const words = { half: "half precision", int8: "int8" }[worst.precision];
  const amount = `${(255 * largest).toFixed(2)}/255`;
  byId("proof").textContent = fine
    ? `Checked against Python on ${worst.proof.count} codes: pixels differ by ${amount} at most (${words}).`
    : `This page does not decode as Python does: pixels differ by up to ${amount}, and ${Math.round(255 * limit)}/255 is allowed in ${words}.`;
  byId("proof").classList.toggle("warning", !fine);
  const total = checked.reduce((sum, model) => sum + model.check.milliseconds, 0);
  byId("speed").textContent = `A picture takes ${total < 10 ? total.toFixed(1) : Math.round(total)} ms here.`;
}

const root = document.documentElement;
const explorer = explore();
explorer.then(({ models }) => { performance.mark("ready"); root.dataset.ready = "yes"; return check(models); })
  .then(() => { performance.mark("checked"); root.dataset.checked = "yes"; })
  .catch((error) => {
    byId("proof").textContent = `This page could not start: ${error.message}`;
    byId("proof").classList.add("warning");
    console.error(error);
  });
