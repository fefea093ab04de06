// SPDX-License-Identifier: Apache-2.0
//
// Computes models with ONNX Runtime: node ort.mjs MODULES. For every line of standard input, a JSON object
// {"model": path, "feeds": {name: {"type", "dims", "file"}}, "outputs": {name: file}}, writes the outputs and a line with
// {name: {"type", "dims"}}, or {"error"}.

import { createRequire } from 'node:module';
import { readFileSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const ort = createRequire(process.argv[2] + '/')('onnxruntime-node');
const arrays = {
    float32: Float32Array, float64: Float64Array, float16: globalThis.Float16Array ?? Uint16Array,
    int8: Int8Array, int16: Int16Array, int32: Int32Array, int64: BigInt64Array,
    uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, uint64: BigUint64Array, bool: Uint8Array,
};

async function compute({ model, feeds, outputs }) {
    const session = await ort.InferenceSession.create(model, {
        intraOpNumThreads: 1, logSeverityLevel: 4, graphOptimizationLevel: 'disabled',
    });
    try {
        const given = {};
        for (const [name, { type, dims, file }] of Object.entries(feeds)) {
            const bytes = readFileSync(file);
            const data = new arrays[type](bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
            given[name] = new ort.Tensor(type, data, dims);
        }
        const results = await session.run(given), shapes = {};
        for (const [name, file] of Object.entries(outputs)) {
            const { data, type, dims } = results[name];
            writeFileSync(file, Buffer.from(data.buffer, data.byteOffset, data.byteLength));
            shapes[name] = { type, dims };
        }
        return shapes;
    } finally {
        await session.release();
    }
}

for await (const line of createInterface({ input: process.stdin }))
    console.log(JSON.stringify(await compute(JSON.parse(line)).catch((error) => ({ error: error.message.replaceAll('\n', ' ') }))));
