// SPDX-License-Identifier: Apache-2.0
#include "tools/standard_input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static struct mapping *standard_input;

bool is_standard(const char *path)
{
    return strcmp(path, "-") == 0;
}

struct mapping *open_or_standard(const char *path, const struct mapping_rule *rule, struct error *error)
{
    if (!is_standard(path))
        return mapping_open(path, rule, error);
    if (!standard_input) {
        int file = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        if (file < 0) {
            wnn_fail(error, WNNStatus_UnknownError, "standard input: %s", strerror(errno));
            return NULL;
        }
        standard_input = mapping_take(file, "standard input", rule, error);
    }
    return standard_input ? mapping_ref(standard_input) : NULL;
}
