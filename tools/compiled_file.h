// SPDX-License-Identifier: Apache-2.0
//
// Compiled graphs in files: webnn/compiled.h.

#ifndef TOOLS_COMPILED_FILE_H_
#define TOOLS_COMPILED_FILE_H_

#include "tools/session.h"

// Whether a regular file of that name begins as one.
bool compiled_file_is(const char *path);

// Opens a session for a graph. If that is compiled, and neither a backend nor a device is asked for, it is on
// the backend that the file is for.
bool compiled_file_open_session(struct session *session, const struct session_options *options,
                                const char *path, struct error *error);

// Maps the file, which stays so as long as the graph; and, if it was saved without its weights, the file that
// has them: that of the session, or one of the name that the constants have, in its folder.
bool compiled_file_load(struct session *session, const char *path, WNNGraph *graph, struct error *error);

// The same for running it: finds the sizes that it runs at, if they are not known (session.sizes), and says
// on stderr if it had to be built anew.
bool compiled_file_open(struct session *session, const char *path, const struct load_options *options,
                        WNNGraph *graph, struct error *error);

// Writes it, in the place of a file that is there; a file that could not be written to its end is not left.
bool compiled_file_save(WNNGraph graph, const char *path, bool weightless, struct error *error);

#endif
