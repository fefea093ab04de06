// SPDX-License-Identifier: Apache-2.0
//
// The format of graph files, for people who write them.

#ifndef TOOLS_HELP_FORMAT_H_
#define TOOLS_HELP_FORMAT_H_

extern const char help_format[];

#endif
