// SPDX-License-Identifier: Apache-2.0
//
// navigator.ml for Node. `import { ml, MLGraphBuilder } from 'webnn'`, or `install()` for the names of a browser.

import { createRequire } from 'node:module';
import { createGraphCache } from './graph_cache.mjs';
import { createWebNN } from './webnn.mjs';

// WEBNN_NODE: another addon, of a sanitized build for instance.
export const native = createRequire(import.meta.url)(process.env.WEBNN_NODE ?? './webnn.node');

// For instance { api: '2024-04' }, see webnn.mjs; compiledGraphCache: a folder, or { folder, maxBytes }.
const { WEBNN_COMPILED_GRAPH_CACHE: folder } = process.env;
export const create = ({ compiledGraphCache = folder || undefined, ...options } = {}) =>
  createWebNN(native, { ...options, graphCache: createGraphCache(native, compiledGraphCache) });

export const { ml, ML, MLContext, MLGraph, MLGraphBuilder, MLOperand, MLTensor, install } = create();
