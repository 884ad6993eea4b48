/* Models: descriptions, codes and decoded pictures. */
"use strict";

const HALF_LIMIT = 1 / 255, INT8_LIMIT = 4 / 255;

/** Returns a model that can decode, made from its description on the page. */
async function loadModel(said, shape) {
  const tensors = await tensorsOf(said.packed);
  const size = shape[0] * shape[1] * shape[2];
  const model = { ...said, size, codes: tensors[said.codes], widths: said.widths ? tensors[said.widths] : null };
  model.continuous = said.latents.filter((latent) => !latent.categories).length;
  model.shown = new Float32Array(size); // the picture that is on the screen
  model.before = new Float32Array(size); // the picture of the start
  if (said.graph) {
    model.decode = makeDecoder(said.graph, tensors);
    model.expected = { codes: tensors[said.proof.codes], images: tensors[said.proof.images] };
  } else {
    model.images = tensors[said.frames.images];
  }
  model.scratch = new Float32Array(said.columns);
  return model;
}

/** Waits until the page has answered what its reader did, if it has been kept from that for long. */
async function breathe(since) {
  if (performance.now() - since < 50) return since;
  await new Promise((done) => setTimeout(done));
  return performance.now();
}

/** Decodes the codes that Python decoded, and returns the largest difference of a pixel and how long a picture takes. */
async function proven(model) {
  const { codes, images } = model.expected, count = model.proof.count, times = [];
  let largest = 0, since = performance.now();
  for (let i = 0; i < count; i++) {
    since = await breathe(since);
    const began = performance.now();
    const found = model.decode(codes.subarray(i * model.columns, (i + 1) * model.columns));
    times.push(performance.now() - began);
    for (let p = 0; p < model.size; p++) {
      const difference = Math.abs(Math.min(1, Math.max(0, found[p])) - images[i * model.size + p]);
      if (!(difference <= largest)) largest = difference; // NaN is a difference too
    }
  }
  const limit = model.precision === "int8" ? INT8_LIMIT : HALF_LIMIT;
  return { largest, milliseconds: times.sort((a, b) => a - b)[count >> 1], fine: largest <= limit, limit };
}

/** The values of all latents at the code of a start image: numbers, and categories of discrete latents. */
function valuesAt(model, image) {
  return model.latents.map((latent) => {
    const at = image * model.columns + latent.first;
    if (!latent.categories) return model.codes[at];
    if (latent.width === 1) return Math.round(model.codes[at]);
    const columns = model.codes.subarray(at, at + latent.width);
    return columns.indexOf(Math.max(...columns));
  });
}

/** The values of all latents at the mean of all codes; of a discrete latent, its most frequent category. */
const meanValues = (model) => model.latents.map((latent) => latent.categories ? mostFrequent(latent) : latent.mean);
const mostFrequent = (latent) => latent.frequencies.indexOf(Math.max(...latent.frequencies));

/** Values drawn from where the codes of images lie, each latent by itself. */
function randomValues(model) {
  const normal = () => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
  return model.latents.map((latent) => {
    if (!latent.categories) return latent.mean + latent.spread * normal();
    let rest = Math.random();
    const drawn = latent.frequencies.findIndex((share) => (rest -= share) < 0);
    return drawn < 0 ? mostFrequent(latent) : drawn;
  });
}

/** Puts values of latents into the columns of a code. */
function putColumns(model, values, columns) {
  model.latents.forEach((latent, number) => {
    if (!latent.categories || latent.width === 1) { columns[latent.first] = values[number]; return; }
    columns.fill(0, latent.first, latent.first + latent.width);
    columns[latent.first + values[number]] = 1;
  });
  return columns;
}

/** The values of a model that follows the first one: each latent makes the step that its partner made. */
function followed(model, values, origin, own) {
  const moved = own.slice();
  model.partners.forEach((partner, number) => {
    if (!partner || values[number] === origin[number]) return;
    if (partner.categories.length) moved[partner.latent] = partner.categories[values[number]];
    else moved[partner.latent] = own[partner.latent] + partner.scale * (values[number] - origin[number]);
  });
  return moved;
}

/** Decodes values into `into`, clipped to what a screen can show. */
function decodeInto(model, values, into) {
  const picture = model.decode(putColumns(model, values, model.scratch));
  for (let p = 0; p < model.size; p++) into[p] = picture[p] < 0 ? 0 : picture[p] > 1 ? 1 : picture[p];
}

/** Looks up the frame that Python decoded: of a start image, with one latent moved. */
function frameInto(model, image, moved, value, into) {
  const { starts, latents, positions } = model.frames;
  let frame = Math.min(image, starts - 1);
  const place = latents.indexOf(moved);
  if (place >= 0) {
    const distances = positions[place].map((position) => Math.abs(position - value));
    const before = positions.slice(0, place).reduce((sum, list) => sum + list.length, 0);
    const each = positions.reduce((sum, list) => sum + list.length, 0);
    frame = starts + frame * each + before + distances.indexOf(Math.min(...distances));
  }
  for (let p = 0; p < model.size; p++) into[p] = model.images[frame * model.size + p] / 255;
}
