/* Pictures on canvases, and files of them. */
"use strict";

/** Returns a canvas of so many pixels that paints intensities; its memory is taken once. */
function makeCanvas(shape, label) {
  const [channels, height, width] = shape;
  const canvas = document.createElement("canvas");
  canvas.width = width; canvas.height = height;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", label);
  if (Math.max(width, height) <= 32) canvas.className = "squares";
  const context = canvas.getContext("2d", { willReadFrequently: true }), image = context.createImageData(width, height), area = width * height;
  const pixels = image.data.fill(255);
  return {
    canvas,
    paint(picture) {
      for (let p = 0, at = 0; p < area; p++, at += 4)
        for (let c = 0; c < 3; c++) pixels[at + c] = 255 * picture[channels === 3 ? c * area + p : p];
      context.putImageData(image, 0, 0);
    },
    /** Paints what is brighter than before in one color and what is darker in another. */
    paintDifference(picture, before) {
      const dark = matchMedia("(prefers-color-scheme: dark)").matches;
      const ground = dark ? [22, 30, 38] : [245, 247, 249];
      const brighter = dark ? [240, 138, 75] : [200, 76, 0], darker = dark ? [86, 180, 233] : [0, 114, 178];
      for (let p = 0, at = 0; p < area; p++, at += 4) {
        let difference = 0;
        for (let c = 0; c < channels; c++) difference += (picture[c * area + p] - before[c * area + p]) / channels;
        const towards = difference > 0 ? brighter : darker, share = Math.abs(difference);
        for (let c = 0; c < 3; c++) pixels[at + c] = ground[c] + share * (towards[c] - ground[c]);
      }
      context.putImageData(image, 0, 0);
    },
  };
}

/** Offers a file to save. */
function save(content, type, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name.replace(/[^\w.-]+/g, "-").replace(/^-+/, "");
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Returns canvases side by side on one, enlarged by a whole number so that pixels stay squares. */
function sideBySide(canvases, least) {
  const scale = Math.max(1, Math.ceil(least / canvases[0].height)), gap = canvases.length > 1 ? scale : 0;
  const sheet = document.createElement("canvas");
  sheet.height = canvases[0].height * scale;
  sheet.width = canvases.length * (canvases[0].width * scale + gap) - gap;
  const context = sheet.getContext("2d", { willReadFrequently: true });
  context.imageSmoothingEnabled = false;
  canvases.forEach((canvas, place) => context.drawImage(canvas, place * (canvas.width * scale + gap), 0, canvas.width * scale, sheet.height));
  return sheet;
}

/** Saves what is shown as a PNG, at least 512 pixels high. */
function savePng(canvases, name) {
  sideBySide(canvases, 512).toBlob((blob) => save(blob, "image/png", `${name}.png`), "image/png");
}

/** Saves frames as a GIF: `show` is asked to show each position, there and back. */
function saveSweep(canvases, show, low, high, name) {
  const count = 24, frames = [];
  let size;
  for (let i = 0; i < 2 * count - 2; i++) {
    const share = (i < count ? i : 2 * count - 2 - i) / (count - 1);
    show(low + share * (high - low));
    const sheet = sideBySide(canvases, 128);
    size = [sheet.width, sheet.height];
    frames.push(sheet.getContext("2d").getImageData(0, 0, ...size).data);
  }
  save(animatedGif(frames, ...size, 6), "image/gif", `${name}.gif`);
}
