// SPDX-License-Identifier: Apache-2.0
//
// Graphviz, where it is installed.

#ifndef TOOLS_GRAPHVIZ_H_
#define TOOLS_GRAPHVIZ_H_

#include "lib/status.h"

// Runs dot on a graph in its language; the image, of "svg" or "png", goes to standard output. False: dot is
// not there or fails.
bool graphviz_draw(const char *format, const char *text, size_t length, struct error *error);

#endif
