// SPDX-License-Identifier: Apache-2.0
//
// The page: the digits network of tools/digits on navigator.ml, as a page would write it.

import './page.mjs';

const element = (id) => document.getElementById(id);
const drawing = element('drawing').getContext('2d', { willReadFrequently: true });
const small = element('small').getContext('2d', { willReadFrequently: true });
const SIZE = 8;

// { name: Float32Array } of a .safetensors file.
async function readWeights(url) {
  const buffer = await (await fetch(url)).arrayBuffer(), length = Number(new DataView(buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  delete header.__metadata__;
  return Object.fromEntries(Object.entries(header).map(([name, { data_offsets: [begin, end], shape }]) =>
    [name, { shape, data: new Float32Array(buffer.slice(8 + length + begin, 8 + length + end)) }]));
}

async function buildNetwork(context) {
  const builder = new MLGraphBuilder(context), weights = await readWeights('/digits/digits.safetensors');
  const constant = (name) => builder.constant({ dataType: 'float32', shape: weights[name].shape }, weights[name].data);
  const convolve = (x, name) => {
    const options = { bias: constant(`${name}_b`), padding: [1, 1, 1, 1], label: name };
    return builder.relu(builder.conv2d(x, constant(`${name}_w`), options));
  };
  let x = builder.input('image', { dataType: 'float32', shape: [1, 1, SIZE, SIZE] });
  x = convolve(convolve(x, 'conv1'), 'conv2');
  x = convolve(builder.maxPool2d(x, { windowDimensions: [2, 2], strides: [2, 2] }), 'conv3');
  x = builder.gemm(builder.reshape(x, [1, 512]), constant('fc_w'), { c: constant('fc_b'), bTranspose: true });
  return builder.build({ probabilities: builder.softmax(x, 1) });
}

const context = await navigator.ml.createContext(), graph = await buildNetwork(context);
const image = await context.createTensor({ dataType: 'float32', shape: [1, 1, SIZE, SIZE], writable: true });
const probabilities = await context.createTensor({ dataType: 'float32', shape: [1, 10], readable: true });

async function classify(pixels) {
  context.writeTensor(image, pixels);
  context.dispatch(graph, { image }, { probabilities });
  return new Float32Array(await context.readTensor(probabilities));
}

// ---------------------------------------------------------------------------------------------------------------

// The part that is drawn on, [left, top, width, height]; the whole where nothing is.
function drawnBox() {
  const { width, height } = drawing.canvas, { data } = drawing.getImageData(0, 0, width, height);
  let [left, top, right, bottom] = [width, height, -1, -1];
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      if (data[(y * width + x) * 4] > 64)
        [left, top, right, bottom] = [Math.min(left, x), Math.min(top, y), Math.max(right, x), Math.max(bottom, y)];
  return right < 0 ? [0, 0, width, height] : [left, top, right - left + 1, bottom - top + 1];
}

// The network has learned digits that fill their image: the drawing is cut out, in its proportions, and averaged.
function shrink() {
  const [left, top, width, height] = drawnBox(), side = Math.max(width, height), { data } =
    drawing.getImageData(left - (side - width) / 2, top - (side - height) / 2, side, side);
  const pixels = new Float32Array(SIZE * SIZE), counts = new Float32Array(SIZE * SIZE);
  for (let y = 0; y < side; y++)
    for (let x = 0; x < side; x++) {
      const cell = Math.floor((y * SIZE) / side) * SIZE + Math.floor((x * SIZE) / side);
      pixels[cell] += data[(y * side + x) * 4] / 255;
      counts[cell]++;
    }
  return pixels.map((sum, i) => (counts[i] ? sum / counts[i] : 0));
}

function show(pixels, results) {
  const picture = small.createImageData(SIZE, SIZE);
  pixels.forEach((value, i) => picture.data.set([value * 255, value * 255, value * 255, 255], i * 4));
  small.putImageData(picture, 0, 0);
  const best = results.indexOf(Math.max(...results));
  element('classes').replaceChildren(...Array.from(results, (probability, digit) => {
    const row = document.createElement('li'), bar = document.createElement('i');
    bar.style.width = `${probability * 160}px`;
    const [name, percent] = [digit, `${(probability * 100).toFixed(1)} %`].map((text) =>
      Object.assign(document.createElement('span'), { textContent: text }));
    row.append(name, bar, percent);
    row.classList.toggle('best', digit === best);
    return row;
  }));
  element('answer').textContent = best;
}

let busy = false, again = false;
async function update() {
  again = true;
  if (busy) return;
  busy = true;
  while (again) {
    again = false;
    const pixels = shrink();
    show(pixels, await classify(pixels));
  }
  busy = false;
}

function clear() {
  drawing.clearRect(0, 0, drawing.canvas.width, drawing.canvas.height);
  element('answer').textContent = '…';
  element('classes').replaceChildren();
}

Object.assign(drawing, { lineWidth: 26, lineCap: 'round', lineJoin: 'round', strokeStyle: '#fff' });
drawing.canvas.addEventListener('pointerdown', ({ offsetX, offsetY }) => {
  drawing.beginPath();
  drawing.moveTo(offsetX, offsetY);
});
drawing.canvas.addEventListener('pointermove', ({ offsetX, offsetY, buttons }) => {
  if (!buttons) return;
  drawing.lineTo(offsetX, offsetY);
  drawing.stroke();
});
drawing.canvas.addEventListener('pointerup', update);
element('clear').addEventListener('click', clear);
element('footer').textContent = 'navigator.ml of this page is a bridge to libwebnn in a process of this machine. ' +
  (navigator.userAgent.match(/Chrom\w*\/\d+/) ?? '');

// For the test: the network on pixels in [0, 1].
window.classifyPixels = async (pixels) => Array.from(await classify(Float32Array.from(pixels)));
document.body.dataset.ready = 'true';
