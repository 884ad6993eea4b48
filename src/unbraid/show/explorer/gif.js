/* An animated GIF from frames of pixels. Up to 256 colors are exact, as all grays are; more are rounded to a palette. */
"use strict";

const MOST_COLORS = 256;

/** Returns the palette of the frames, and a function from a color to its place in it. */
function paletteOf(frames) {
  const seen = new Map();
  for (const pixels of frames)
    for (let i = 0; i < pixels.length; i += 4) {
      const color = pixels[i] << 16 | pixels[i + 1] << 8 | pixels[i + 2];
      seen.set(color, (seen.get(color) ?? 0) + 1);
    }
  const colors = [...seen.keys()];
  const palette = colors.length <= MOST_COLORS ? colors : medianCut(colors);
  const places = new Map(palette.map((color, place) => [color, place]));
  return {
    palette,
    place(color) {
      if (!places.has(color)) places.set(color, nearest(color, palette));
      return places.get(color);
    },
  };
}

const channel = (color, which) => color >> (16 - 8 * which) & 255;

/** Splits the colors at the median of their widest channel, again and again, and returns the mean of each part. */
function medianCut(colors) {
  const parts = [colors];
  while (parts.length < MOST_COLORS) {
    const spans = parts.map((part) => [0, 1, 2].map((c) => {
      let low = 255, high = 0;
      for (const color of part) { const v = channel(color, c); if (v < low) low = v; if (v > high) high = v; }
      return high - low;
    }));
    const widths = spans.map((span) => Math.max(...span));
    const widest = widths.indexOf(Math.max(...widths));
    if (widths[widest] === 0) break;
    const which = spans[widest].indexOf(widths[widest]);
    const part = parts[widest].sort((a, b) => channel(a, which) - channel(b, which));
    parts.splice(widest, 1, part.slice(0, part.length >> 1), part.slice(part.length >> 1));
  }
  return parts.map((part) => [0, 1, 2].reduce((mean, c) => {
    const sum = part.reduce((total, color) => total + channel(color, c), 0);
    return mean << 8 | Math.round(sum / part.length);
  }, 0));
}

function nearest(color, palette) {
  let best = 0, least = Infinity;
  palette.forEach((other, place) => {
    const distance = [0, 1, 2].reduce((sum, c) => sum + (channel(color, c) - channel(other, c)) ** 2, 0);
    if (distance < least) { least = distance; best = place; }
  });
  return best;
}

/** Compresses places of a palette as GIF does: the LZW of codes that grow from 9 bits to 12. */
function compressed(places) {
  const CLEAR = 256, END = 257, bytes = [];
  let bits = 0, held = 0, width = 9, table = new Map(), next = 258, prefix = places[0];
  const emit = (code) => {
    held |= code << bits;
    for (bits += width; bits >= 8; bits -= 8, held >>>= 8) bytes.push(held & 255);
  };
  emit(CLEAR);
  for (let i = 1; i < places.length; i++) {
    const key = prefix << 8 | places[i], known = table.get(key);
    if (known !== undefined) { prefix = known; continue; }
    emit(prefix);
    if (next === 4096) {
      emit(CLEAR);
      table = new Map(); next = 258; width = 9;
    } else {
      if (next === 1 << width) width++;
      table.set(key, next++);
    }
    prefix = places[i];
  }
  emit(prefix);
  emit(END);
  if (bits > 0) bytes.push(held & 255);
  return bytes;
}

/** Returns a GIF that repeats for ever. `frames` are pixels as a canvas has them, four bytes each. */
function animatedGif(frames, width, height, hundredths) {
  const { palette, place } = paletteOf(frames);
  const word = (value) => [value & 255, value >> 8];
  const table = new Array(3 * MOST_COLORS).fill(0);
  palette.forEach((color, at) => [0, 1, 2].forEach((c) => { table[3 * at + c] = channel(color, c); }));
  const bytes = [..."GIF89a"].map((letter) => letter.charCodeAt(0));
  bytes.push(...word(width), ...word(height), 0xf7, 0, 0, ...table);
  bytes.push(0x21, 0xff, 11, ...[..."NETSCAPE2.0"].map((letter) => letter.charCodeAt(0)), 3, 1, 0, 0, 0);
  for (const pixels of frames) {
    const places = new Uint8Array(width * height);
    for (let i = 0; i < places.length; i++) places[i] = place(pixels[4 * i] << 16 | pixels[4 * i + 1] << 8 | pixels[4 * i + 2]);
    bytes.push(0x21, 0xf9, 4, 0, ...word(hundredths), 0, 0);
    bytes.push(0x2c, 0, 0, 0, 0, ...word(width), ...word(height), 0, 8);
    const content = compressed(places);
    for (let i = 0; i < content.length; i += 255) bytes.push(Math.min(255, content.length - i), ...content.slice(i, i + 255));
    bytes.push(0);
  }
  bytes.push(0x3b);
  return new Uint8Array(bytes);
}
