// SPDX-License-Identifier: Apache-2.0
//
// The files that a model lies in: its own, or memory of the program's, and those with external data. They
// stay open for as long as the model or an operand that was lent bytes of them.

#ifndef TOOLS_MODEL_SOURCE_H_
#define TOOLS_MODEL_SOURCE_H_

#include "lib/status.h"
#include "tools/model/excerpt.h"

#include <webnn/model.h>
#include <webnn/serialize.h>

#include <stdatomic.h>

// What is written of a file to describe it.
struct description {
    unsigned char *data;
    size_t size, capacity;
    bool failed; // there was no memory
};

// So many bytes more; NULL: no memory.
unsigned char *wnn_description_add(struct description *to, size_t size);

struct model_source {
    atomic_size_t references;
    const char *path;         // of the model, for messages
    const char *weights_path; // that the program gave, or empty
    struct bytes bytes;       // of the model; of a mapped file, its description, see below
    struct excerpt
        excerpt; // of the mapped file, for a format that reads one; `left` is empty if there is none
    // The rest is source.c's.
    char *own_path, *own_weights_path;
    bool copy;
    struct bytes file;         // the mapped file that a description was written of, or empty
    void *written;             // that description, or NULL
    WNNModelDescriptor memory; // whose `release` is called at the end
    struct source_file *files; // a list; only the model's thread adds to it
    size_t file_count;
};

// A path as text that ends with 0, to be freed; NULL: no memory.
char *wnn_source_copy_path(WNNStringView path);

// One reference for the caller; NULL: an error, which begins with the path. `extent` tells how much is read
// of a pipe (struct mapping_rule).
struct model_source *wnn_source_open(const WNNModelDescriptor *descriptor,
                                     size_t (*extent)(const unsigned char *data, size_t size, void *unused),
                                     struct error *error);
void wnn_source_unref(struct model_source *source); // NULL is accepted; any thread

// Copies what a mapped file describes, all but its weights: others may write to a mapped file, and what was
// read of a description has to stay what it was. `find` looks for weights among bytes that may become others
// at any time; the source has an excerpt then. Does nothing where the file is not mapped. Once, before other
// files are opened; false: an error.
bool wnn_source_make_excerpt(struct model_source *source,
                             void (*find)(struct bytes file, struct byte_runs *runs), struct error *error);
// The same for a format whose description has to be in one piece: `write` writes one anew.
bool wnn_source_write_description(struct model_source *source,
                                  void (*write)(struct bytes file, struct description *to),
                                  struct error *error);

// A part of the file that a description was written of; empty: there is none.
struct bytes wnn_source_part(const struct model_source *source, uint64_t offset, uint64_t size);

// The bytes of all files so far, or more: what is read of them may take as long as they are large.
uint64_t wnn_source_size(const struct model_source *source);

// A file of any path, opened once. NULL: an error with the path in it.
struct mapping;
struct mapping_rule;
struct mapping *wnn_source_file(struct model_source *source, const char *path,
                                const struct mapping_rule *rule, struct error *error);

// A file of a name that the model says: relative to its folder, not leading out of it. `path`, which lives as
// long as the source, and `is_new`, whether it was opened just now, may be NULL. A fault is text that lives
// until the next call of the thread.
struct bytes wnn_source_find(struct model_source *source, struct bytes name, const char **path, bool *is_new,
                             const char **fault);

// The same of a name that another file says, of the path `beside`: relative to its folder.
struct bytes wnn_source_find_beside(struct model_source *source, const char *beside, struct bytes name,
                                    const char **path, bool *is_new, const char **fault);

// What bytes of a file are called where they are not: "NAME:OFFSET", with the name of the file without its
// folder.
struct source_name {
    WNNNamedBytes named;
    char id[WNN_MAX_CONSTANT_ID];
};

// Bytes of these files for a constant; the builder takes over a reference. They have a name if they lie in a
// file, which is written to `name` and has to be there as long as the answer is used.
WNNExternalBytes wnn_source_lend(struct model_source *source, struct bytes data, struct source_name *name);

#endif
