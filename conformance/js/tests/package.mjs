// SPDX-License-Identifier: Apache-2.0
//
// The package under test: the one that WEBNN_PACKAGE names, or that of build/.

import { pathToFileURL } from 'node:url';

export const entry =
  process.env.WEBNN_PACKAGE ?? new URL('../../../build/conformance/js/index.mjs', import.meta.url).pathname;
export const { create, native, ml, MLGraphBuilder } = await import(pathToFileURL(entry));
