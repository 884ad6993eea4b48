/* The decoder, layer by layer, in typed arrays. All memory is taken when the net is made; a picture takes none.
 *
 * An image is one flat array, channel by channel and row by row, as torch keeps it. Every weighted layer is one matrix
 * product. The weights lie in panels of four rows, the other factor in panels of four columns, so that sixteen sums
 * stay in registers and both are read in the order in which they lie in memory. */
"use strict";

const TILE = 4;
const roundedUp = (count) => Math.ceil(count / TILE) * TILE;

/** Returns the matrix in panels: four rows side by side, column by column. Missing rows are zeros. */
function inPanels(matrix, rows, inner) {
  const panels = new Float32Array(roundedUp(rows) * inner);
  for (let row = 0; row < rows; row++) {
    const start = (row - row % TILE) * inner + row % TILE;
    for (let k = 0; k < inner; k++) panels[start + k * TILE] = matrix[row * inner + k];
  }
  return panels;
}

/** Writes matrix times vector plus bias into `out`. */
function multiplyVector(panels, rows, inner, vector, bias, out) {
  for (let row = 0; row < rows; row += TILE) {
    let at = row * inner, s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (let k = 0; k < inner; k++, at += TILE) {
      const x = vector[k];
      s0 += panels[at] * x; s1 += panels[at + 1] * x; s2 += panels[at + 2] * x; s3 += panels[at + 3] * x;
    }
    out[row] = s0 + bias[row]; out[row + 1] = s1 + bias[row + 1];
    out[row + 2] = s2 + bias[row + 2]; out[row + 3] = s3 + bias[row + 3];
  }
}

/** Writes the product of two matrices in panels, plus the bias of each row, into `out`, whose rows are `stride` apart. */
function multiply(panels, rows, inner, other, columns, bias, out, stride) {
  for (let row = 0; row < rows; row += TILE) {
    const z0 = bias[row], z1 = bias[row + 1], z2 = bias[row + 2], z3 = bias[row + 3];
    const end = (row + TILE) * inner;
    for (let column = 0; column < columns; column += TILE) {
      let c00 = z0, c01 = z0, c02 = z0, c03 = z0, c10 = z1, c11 = z1, c12 = z1, c13 = z1;
      let c20 = z2, c21 = z2, c22 = z2, c23 = z2, c30 = z3, c31 = z3, c32 = z3, c33 = z3;
      for (let a = row * inner, b = column * inner; a < end; a += TILE, b += TILE) {
        const a0 = panels[a], a1 = panels[a + 1], a2 = panels[a + 2], a3 = panels[a + 3];
        const b0 = other[b], b1 = other[b + 1], b2 = other[b + 2], b3 = other[b + 3];
        c00 += a0 * b0; c01 += a0 * b1; c02 += a0 * b2; c03 += a0 * b3;
        c10 += a1 * b0; c11 += a1 * b1; c12 += a1 * b2; c13 += a1 * b3;
        c20 += a2 * b0; c21 += a2 * b1; c22 += a2 * b2; c23 += a2 * b3;
        c30 += a3 * b0; c31 += a3 * b1; c32 += a3 * b2; c33 += a3 * b3;
      }
      let at = row * stride + column;
      out[at] = c00; out[at + 1] = c01; out[at + 2] = c02; out[at + 3] = c03; at += stride;
      out[at] = c10; out[at + 1] = c11; out[at + 2] = c12; out[at + 3] = c13; at += stride;
      out[at] = c20; out[at + 1] = c21; out[at + 2] = c22; out[at + 3] = c23; at += stride;
      out[at] = c30; out[at + 1] = c31; out[at + 2] = c32; out[at + 3] = c33;
    }
  }
}

/** A layer that multiplies by a matrix: its panels and its bias, with rows to a multiple of four. */
function weighted(layer, tensors) {
  const { rows, inner } = layer;
  const bias = new Float32Array(roundedUp(rows));
  if (layer.bias) bias.set(tensors[layer.bias]);
  return { rows, inner, bias, panels: inPanels(tensors[layer.matrix], rows, inner) };
}

/* Each kind of layer is a function from its description on the page to a step, which maps x to its output. */
const LAYERS = {
  linear(layer, tensors) {
    const { rows, inner, bias, panels } = weighted(layer, tensors);
    const out = new Float32Array(roundedUp(rows));
    return (x) => { multiplyVector(panels, rows, inner, x, bias, out); return out; };
  },

  /* A convolution: for each pixel of the result, what its window sees is a column; then one product. */
  convolution(layer, tensors) {
    const { rows, inner, bias, panels } = weighted(layer, tensors);
    const [, height, width] = layer.from, [, down, across] = layer.to, [kernelHeight, kernelWidth] = layer.kernel;
    const pixels = down * across, stride = roundedUp(pixels);
    const windows = new Float32Array(stride * inner), wide = new Float32Array(roundedUp(rows) * stride);
    const out = stride === pixels ? wide : new Float32Array(rows * pixels);
    // Where each number of each window comes from; -1 is the margin.
    const source = new Int32Array(windows.length).fill(-1);
    for (let p = 0; p < pixels; p++) {
      const top = Math.floor(p / across) * layer.stride[0] - layer.padding[0];
      const left = p % across * layer.stride[1] - layer.padding[1];
      for (let k = 0; k < inner; k++) {
        const row = top + Math.floor(k / kernelWidth) % kernelHeight * layer.dilation[0];
        const column = left + k % kernelWidth * layer.dilation[1];
        const channel = Math.floor(k / (kernelWidth * kernelHeight));
        if (row < 0 || row >= height || column < 0 || column >= width) continue;
        source[(p - p % TILE) * inner + k * TILE + p % TILE] = (channel * height + row) * width + column;
      }
    }
    return (x) => {
      for (let i = 0; i < source.length; i++) windows[i] = source[i] < 0 ? 0 : x[source[i]];
      multiply(panels, rows, inner, windows, stride, bias, wide, stride);
      if (out !== wide) for (let row = 0; row < rows; row++) for (let p = 0; p < pixels; p++) out[row * pixels + p] = wide[row * stride + p];
      return out;
    };
  },

  /* A transposed convolution: one product gives what each pixel paints; then all of it is added where it belongs. */
  transposed(layer, tensors) {
    const { rows, inner, panels } = weighted({ ...layer, bias: null }, tensors);
    const [channels, height, width] = layer.to, [, down, across] = layer.from, [kernelHeight, kernelWidth] = layer.kernel;
    const none = new Float32Array(roundedUp(rows)), bias = layer.bias ? tensors[layer.bias] : new Float32Array(channels);
    const pixels = down * across, stride = roundedUp(pixels);
    const columns = new Float32Array(inner * stride), painted = new Float32Array(roundedUp(rows) * stride);
    const out = new Float32Array(channels * height * width);
    return (x) => {
      for (let k = 0; k < inner; k++)
        for (let p = 0; p < pixels; p++) columns[(p - p % TILE) * inner + k * TILE + p % TILE] = x[k * pixels + p];
      multiply(panels, rows, inner, columns, stride, none, painted, stride);
      for (let channel = 0; channel < channels; channel++) out.fill(bias[channel], channel * height * width, (channel + 1) * height * width);
      for (let row = 0; row < rows; row++) {
        const kernelColumn = row % kernelWidth, kernelRow = Math.floor(row / kernelWidth) % kernelHeight;
        const start = Math.floor(row / (kernelWidth * kernelHeight)) * height * width;
        const [stepDown, stepAcross] = layer.stride;
        const left = kernelColumn * layer.dilation[1] - layer.padding[1];
        for (let i = 0; i < down; i++) {
          const target = i * stepDown + kernelRow * layer.dilation[0] - layer.padding[0];
          if (target < 0 || target >= height) continue;
          const from = row * stride + i * across, into = start + target * width;
          for (let j = 0, column = left; j < across; j++, column += stepAcross)
            if (column >= 0 && column < width) out[into + column] += painted[from + j];
        }
      }
      return out;
    };
  },

  /* Numbers put elsewhere, several times or not at all, among constants: crops, broadcasts, nearest neighbors. */
  arrangement(layer, tensors) {
    const source = tensors[layer.source], constants = tensors[layer.constants], out = new Float32Array(source.length);
    return (x) => {
      for (let i = 0; i < source.length; i++) out[i] = source[i] < 0 ? constants[i] : x[source[i]];
      return out;
    };
  },

  /* Every channel times its factor plus its shift: BatchNorm. */
  scale(layer, tensors) {
    const factor = tensors[layer.factor], shift = tensors[layer.shift], area = layer.area;
    const out = new Float32Array(factor.length * area);
    return (x) => {
      for (let c = 0, i = 0; c < factor.length; c++) for (const end = i + area; i < end; i++) out[i] = x[i] * factor[c] + shift[c];
      return out;
    };
  },

  /* Bilinear upsampling: every pixel is a mean of four. */
  bilinear(layer) {
    const [channels, height, width] = layer.from, [, down, across] = layer.to;
    const rows = neighbors(height, down, layer.corners), columns = neighbors(width, across, layer.corners);
    const out = new Float32Array(channels * down * across);
    return (x) => {
      for (let c = 0, at = 0; c < channels; c++) for (let i = 0; i < down; i++) for (let j = 0; j < across; j++, at++) {
        const upper = (c * height + rows.first[i]) * width, lower = (c * height + rows.second[i]) * width;
        const left = columns.first[j], right = columns.second[j], v = rows.share[i], h = columns.share[j];
        out[at] = (1 - v) * ((1 - h) * x[upper + left] + h * x[upper + right]) + v * ((1 - h) * x[lower + left] + h * x[lower + right]);
      }
      return out;
    };
  },

  relu: (layer) => inPlace(layer, (v) => v > 0 ? v : 0),
  leaky: (layer) => inPlace(layer, (v) => v > 0 ? v : v * layer.slope),
  tanh: (layer) => inPlace(layer, Math.tanh),
  sigmoid: (layer) => inPlace(layer, (v) => 1 / (1 + Math.exp(-v))),
  elu: (layer) => inPlace(layer, (v) => v > 0 ? v : layer.slope * Math.expm1(v)),
  gelu: (layer) => inPlace(layer, (v) => 0.5 * v * (1 + errorFunction(v * Math.SQRT1_2))),
  gelu_tanh: (layer) => inPlace(layer, (v) => 0.5 * v * (1 + Math.tanh(0.7978845608028654 * (v + 0.044715 * v * v * v)))),
  /* The mean of the continuous Bernoulli likelihood: 1/2 + (coth(h) - 1 / h) / 2 with h half the logit. */
  continuous_bernoulli: (layer) => inPlace(layer, (v) => {
    const h = v / 2, s = h * h;
    return 0.5 + 0.5 * (Math.abs(h) < 0.1 ? h * (1 / 3 - s * (1 / 45 - s * (2 / 945 - s / 4725))) : 1 / Math.tanh(h) - 1 / h);
  }),
};

/** A step that changes each number where it lies. */
function inPlace(layer, change) {
  return (x) => { for (let i = 0; i < layer.size; i++) x[i] = change(x[i]); return x; };
}

/** For each pixel of the result: the two it lies between, and the share of the second, as torch places them. */
function neighbors(from, to, corners) {
  const first = new Int32Array(to), second = new Int32Array(to), share = new Float32Array(to);
  for (let i = 0; i < to; i++) {
    const place = corners ? (to > 1 ? i * (from - 1) / (to - 1) : 0) : Math.max(0, (i + 0.5) * from / to - 0.5);
    first[i] = Math.min(from - 1, Math.floor(place));
    second[i] = Math.min(from - 1, first[i] + 1);
    share[i] = place - first[i];
  }
  return { first, second, share };
}

/** erf by Abramowitz and Stegun's formula 7.1.26: exact to 1.5e-7. */
function errorFunction(x) {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const rest = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  const value = 1 - rest * Math.exp(-x * x);
  return x < 0 ? -value : value;
}

/** Returns a function from a code to the intensities of its picture. The array that it returns is used again. */
function makeDecoder(graph, tensors) {
  const input = new Float32Array(graph.inputs);
  const steps = graph.layers.map((layer) => LAYERS[layer.kind](layer, tensors));
  return (code) => {
    input.set(code); // inputs beyond the code, of a generator's noise, stay 0
    let x = input;
    for (const step of steps) x = step(x);
    return x;
  };
}
