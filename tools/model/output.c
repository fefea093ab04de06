// SPDX-License-Identifier: Apache-2.0
#include "tools/model/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool output_begin(struct output *output, const char *path, struct error *error)
{
    struct stat status;
    *output = (struct output){.path = path};
    bool exists = lstat(path, &status) == 0;
    if ((!exists || S_ISREG(status.st_mode)) &&
        asprintf(&output->temporary, "%s.%ld.tmp", path, (long)getpid()) < 0) {
        output->temporary = NULL;
        return wnn_fail_memory(error);
    }
    output->file = fopen(output->temporary ? output->temporary : path, output->temporary ? "wbx" : "wb");
    if (output->file)
        return true;
    wnn_fail(error, WNNStatus_UnknownError, "%s: %s", path, strerror(errno));
    free(output->temporary);
    return false;
}

bool output_end(struct output *output, bool good, struct error *error)
{
    errno = 0;
    bool written = !ferror(output->file);
    int reason = errno;
    if (fclose(output->file) != 0) {
        written = false;
        reason = errno;
    }
    if (good && written && output->temporary && rename(output->temporary, output->path) != 0) {
        written = false;
        reason = errno;
    }
    if (output->temporary && !(good && written))
        unlink(output->temporary);
    free(output->temporary);
    if (good && !written)
        wnn_fail(error, WNNStatus_UnknownError, "%s: %s", output->path,
                 reason ? strerror(reason) : "it cannot be written");
    return good && written;
}
