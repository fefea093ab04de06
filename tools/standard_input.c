// SPDX-License-Identifier: Apache-2.0
#include "tools/standard_input.h"

#include "tools/model/bounds.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct mapping *standard_input;
static struct error fault; // why it could not be read: what is left of it is not the whole
static bool is_weights;    // standard input is a file that the library opens

bool is_standard(const char *path)
{
    return strcmp(path, "-") == 0;
}

static bool fail_again(struct error *error)
{
    return wnn_fail(error, WNNStatus_TypeError, "standard input, -, can be read once only");
}

struct mapping *open_or_standard(const char *path, const struct mapping_rule *rule, struct error *error)
{
    if (!is_standard(path))
        return mapping_open(path, rule, error);
    if (is_weights) {
        fail_again(error);
        return NULL;
    }
    if (!standard_input && !fault.status) {
        int file = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        if (file >= 0)
            standard_input = mapping_take(file, "standard input", rule, &fault);
        else
            wnn_fail(&fault, WNNStatus_UnknownError, "standard input: %s", strerror(errno));
    }
    if (standard_input)
        return mapping_ref(standard_input);
    wnn_fail(error, fault.status, "%s", fault.message);
    return NULL;
}

static bool fail_to_read(struct error *error)
{
    return wnn_fail(error, WNNStatus_UnknownError, "standard input: %s", strerror(errno));
}

// All that standard input has, into a file.
static bool copy_standard_input(int to, struct error *error)
{
    static unsigned char buffer[1 << 16];
    uint64_t size = 0;
    ssize_t count;
    while ((count = read(STDIN_FILENO, buffer, sizeof buffer)) != 0) {
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0 || write(to, buffer, (size_t)count) != count)
            return fail_to_read(error);
        size += (uint64_t)count;
        if (size > MAX_MODEL_STREAM)
            return wnn_fail(error, WNNStatus_TypeError, "standard input: weights of more than %llu bytes",
                            (unsigned long long)MAX_MODEL_STREAM);
    }
    return true;
}

// A pipe, a socket or a file that somebody has begun to read becomes a file in memory.
static bool make_standard_input_file(struct error *error)
{
    struct stat status;
    if (fstat(STDIN_FILENO, &status) != 0)
        return fail_to_read(error);
    if (S_ISREG(status.st_mode) && lseek(STDIN_FILENO, 0, SEEK_CUR) == 0)
        return true;
    int file = memfd_create("weights", MFD_CLOEXEC);
    if (file < 0)
        return fail_to_read(error);
    bool good = copy_standard_input(file, error) && (dup2(file, STDIN_FILENO) >= 0 || fail_to_read(error));
    close(file);
    return good;
}

const char *path_or_standard(const char *path, struct error *error)
{
    if (!is_standard(path))
        return path;
    if (!is_weights)
        is_weights = standard_input ? fail_again(error) : make_standard_input_file(error);
    return is_weights ? "/dev/stdin" : NULL;
}
