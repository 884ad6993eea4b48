/* Tensors, as the page holds them: all of a model in one blob, compressed, as base64. */
"use strict";

/** Returns the bytes of a blob. */
async function bytesOf(base64) {
  const text = atob(base64), packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** All half-precision numbers by their bits, so that reading one is looking it up. */
const HALF = (() => {
  const table = new Float32Array(65536);
  for (let bits = 0; bits < 65536; bits++) {
    const exponent = bits >> 10 & 31, fraction = bits & 1023;
    const size = exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15);
    table[bits] = bits & 0x8000 ? -size : size;
  }
  return table;
})();

/* How each kind of number is read: from the bytes of a tensor to an array that one can compute with. */
const READERS = {
  float32: (bytes) => new Float32Array(bytes.buffer),
  int32: (bytes) => new Int32Array(bytes.buffer),
  uint8: (bytes) => bytes,
  /* Intensities from 0 to 1 in steps of 1 / 65535. */
  unit16: (bytes) => Float32Array.from(new Uint16Array(bytes.buffer), (value) => value / 65535),
  half: (bytes) => {
    const bits = new Uint16Array(bytes.buffer), values = new Float32Array(bits.length);
    for (let i = 0; i < bits.length; i++) values[i] = HALF[bits[i]];
    return values;
  },
  /* A scale for each row, in single precision, then the rows in whole numbers from -127 to 127. */
  int8: (bytes, rows) => {
    const scales = new Float32Array(bytes.buffer, 0, rows), steps = new Int8Array(bytes.buffer, rows * 4);
    const inner = steps.length / rows, values = new Float32Array(steps.length);
    for (let row = 0, i = 0; row < rows; row++) for (let k = 0; k < inner; k++, i++) values[i] = steps[i] * scales[row];
    return values;
  },
};

/** Returns the tensors of a blob by name. */
async function tensorsOf(packed) {
  const bytes = await bytesOf(packed.blob), tensors = {};
  for (const [name, { kind, start, size, rows }] of Object.entries(packed.index))
    tensors[name] = READERS[kind](bytes.slice(start, start + size), rows);
  return tensors;
}
