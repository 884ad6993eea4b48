/* What one is looking at: the values of all latents, where they began, and what else was chosen; also in the address. */
"use strict";

const MEAN = "mean", RANDOM = "random";

/** Returns a state that begins at the first image. */
function makeState(models, count) {
  const first = models[0];
  const state = {
    models, count, values: [], start: 0, startValues: [], second: null, secondValues: null,
    chosen: 0, moved: null, difference: false, pad: [0, 1],
  };

  /** Begins at an image, at the mean or at random. */
  state.begin = (start) => {
    state.start = start;
    state.startValues = start === MEAN ? meanValues(first) : start === RANDOM ? randomValues(first) : valuesAt(first, start);
    state.reset();
  };
  state.reset = () => { state.values = state.startValues.slice(); state.moved = null; if (state.second !== null) state.secondValues = valuesAt(first, state.second); };

  /** Chooses a second image to swap latents with; null for none. */
  state.pair = (image) => { state.second = image; state.secondValues = image === null ? null : valuesAt(first, image); };

  /** Moves one latent. Where all that is known is frames of one latent at a time, the others go back. */
  state.move = (latent, value) => {
    if (!Number.isFinite(value)) return;
    if (models.every((model) => model.frames)) state.values = state.startValues.slice();
    state.values[latent] = first.latents[latent].categories ? Math.round(value) : value;
    state.moved = latent;
  };

  /** Exchanges one latent of the two images. */
  state.swap = (latent) => {
    [state.values[latent], state.secondValues[latent]] = [state.secondValues[latent], state.values[latent]];
    state.moved = latent;
  };

  /** The values of a model, of the first or the second image: its own, moved as the first one's were. */
  state.valuesOf = (model, values, start) => {
    if (model === first) return values;
    const isImage = typeof start === "number";
    const origin = isImage ? valuesAt(first, start) : meanValues(first);
    return followed(model, values, origin, isImage ? valuesAt(model, start) : meanValues(model));
  };

  /** The state as a fragment of an address. */
  state.address = () => {
    const short = (value) => String(Number(value.toFixed(3)));
    const parts = [`z=${state.values.map(short).join(",")}`, `start=${state.start === RANDOM ? state.startValues.map(short).join(",") : state.start}`];
    if (state.second !== null) parts.push(`second=${state.second}`, `swapped=${state.secondValues.map(short).join(",")}`);
    if (state.difference) parts.push("difference=1");
    return parts.join("&");
  };

  /** Takes the state from a fragment; what does not fit is passed over. */
  state.restore = (fragment) => {
    const said = new URLSearchParams(fragment.replace(/^#/, ""));
    const list = (name) => {
      const values = (said.get(name) ?? "").split(",").map((word) => word.trim() === "" ? NaN : Number(word));
      return values.length === first.latents.length && values.every((value, i) => isValue(first.latents[i], value)) ? values : null;
    };
    const image = (name) => /^\d+$/.test(said.get(name) ?? "") && Number(said.get(name)) < count ? Number(said.get(name)) : null;
    if (said.get("start") === MEAN) state.begin(MEAN);
    else if (image("start") !== null) state.begin(image("start"));
    else if (list("start")) { state.start = RANDOM; state.startValues = list("start"); state.reset(); }
    state.pair(image("second"));
    if (state.second !== null && list("swapped")) state.secondValues = list("swapped");
    state.difference = said.get("difference") === "1";
    if (list("z")) {
      state.values = list("z");
      const moved = state.values.findIndex((value, i) => Math.abs(value - state.startValues[i]) > 1e-3);
      state.moved = moved < 0 ? null : moved;
    }
  };

  state.begin(0);
  return state;
}

const isValue = (latent, value) =>
  latent.categories ? Number.isInteger(value) && value >= 0 && value < latent.categories : Number.isFinite(value) && Math.abs(value) < 1e6;
