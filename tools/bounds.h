// SPDX-License-Identifier: Apache-2.0
//
// How much the program reads of files that do not say how long they are, and of what could be made to need
// far more memory than it has bytes. `webnn help limits` prints these numbers, and so does every message
// about them.

#ifndef TOOLS_BOUNDS_H_
#define TOOLS_BOUNDS_H_

#include "tools/model/bounds.h"

#define MAX_DATA_STREAM  ((size_t)256 << 20) // the same of arrays and raw numbers
#define MAX_UNPACKED     ((size_t)1 << 30)   // bytes of an array that is compressed, before and after
#define MAX_IMAGE_FILE   ((size_t)256 << 20) // bytes of an image
#define MAX_IMAGE_SIDE   32768u              // pixels
#define MAX_IMAGE_PIXELS (1u << 27)
#define MAX_JPEG_SCANS   100u
#define MAX_JPEG_WORK    ((unsigned long long)1 << 30) // pixels times scans; 16 scans are always read
#define MAX_LABELS       ((size_t)4 << 20)             // bytes of a file of labels
#define MAX_PEER_OUTPUT  ((size_t)1 << 20)             // bytes that a command of --vs prints
#define MAX_TIMES        ((size_t)10000000)            // executions that are measured

#endif
