// SPDX-License-Identifier: Apache-2.0
//
// Computes models with ONNX Runtime: node ort.mjs MODULES FOLDER. For every line of standard input, a JSON object
// {"model": path, "feeds": {name: {"type", "dims", "file"}}, "outputs": {name: file}}, writes the outputs and a line:
// nothing, or what went wrong.

import { createRequire } from 'node:module';
import { readFileSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const ort = createRequire(process.argv[2] + '/')('onnxruntime-node');
const arrays = { float32: Float32Array, int32: Int32Array, int64: BigInt64Array, uint8: Uint8Array };

async function compute({ model, feeds, outputs }) {
    const session = await ort.InferenceSession.create(model, { intraOpNumThreads: 1, logSeverityLevel: 4 });
    const given = {};
    for (const [name, { type, dims, file }] of Object.entries(feeds)) {
        const bytes = readFileSync(file);
        given[name] = new ort.Tensor(type, new arrays[type](bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length)), dims);
    }
    const results = await session.run(given);
    for (const [name, file] of Object.entries(outputs)) {
        const { data } = results[name];
        writeFileSync(file, Buffer.from(data.buffer, data.byteOffset, data.byteLength));
    }
    await session.release();
}

for await (const line of createInterface({ input: process.stdin }))
    console.log(await compute(JSON.parse(line)).then(() => '', (error) => error.message.replaceAll('\n', ' ')));
