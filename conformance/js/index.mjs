// SPDX-License-Identifier: Apache-2.0
//
// navigator.ml for Node. `import { ml, MLGraphBuilder } from 'webnn'`, or `install()` for the names of a browser.

import { createRequire } from 'node:module';
import { createWebNN } from './webnn.mjs';

// WEBNN_NODE: another addon, of a sanitized build for instance.
export const native = createRequire(import.meta.url)(process.env.WEBNN_NODE ?? './webnn.node');

// For instance { api: '2024-04' }, see webnn.mjs.
export const create = (options) => createWebNN(native, options);

export const { ml, ML, MLContext, MLGraph, MLGraphBuilder, MLOperand, MLTensor, install } = create();
