// SPDX-License-Identifier: Apache-2.0
#include "tools/graphviz.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

// Starts dot with `input` as its standard input and SIGPIPE as usual; an errno, or 0.
static int start(const char *format, int input, pid_t *process)
{
    char option[16], name[] = "dot";
    char *const words[] = {name, option, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t signals;
    snprintf(option, sizeof option, "-T%s", format);
    sigemptyset(&signals);
    sigaddset(&signals, SIGPIPE);
    int fault = posix_spawn_file_actions_init(&actions);
    if (fault)
        return fault;
    fault = posix_spawnattr_init(&attributes);
    if (fault) {
        posix_spawn_file_actions_destroy(&actions);
        return fault;
    }
    fault = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    if (!fault)
        fault = posix_spawnattr_setsigdefault(&attributes, &signals);
    if (!fault)
        fault = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    if (!fault)
        fault = posix_spawnp(process, name, &actions, &attributes, words, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return fault;
}

// False: the reader has closed its end.
static bool write_all(int to, const char *text, size_t length)
{
    while (length) {
        ssize_t written = write(to, text, length);
        if (written < 0 && errno != EINTR)
            return false;
        if (written > 0) {
            text += written;
            length -= (size_t)written;
        }
    }
    return true;
}

static bool finish(pid_t process, bool written, struct error *error)
{
    int status;
    pid_t ended;
    do {
        ended = waitpid(process, &status, 0);
    } while (ended < 0 && errno == EINTR);
    if (ended < 0)
        return wnn_fail(error, WNNStatus_UnknownError, "dot: %s", strerror(errno));
    if (WIFSIGNALED(status))
        return wnn_fail(error, WNNStatus_UnknownError, "dot ended with signal %d", WTERMSIG(status));
    if (WEXITSTATUS(status) != 0)
        return wnn_fail(error, WNNStatus_UnknownError, "dot failed with status %d", WEXITSTATUS(status));
    return written || wnn_fail(error, WNNStatus_UnknownError, "dot ended before it had read the graph");
}

bool graphviz_draw(const char *format, const char *text, size_t length, struct error *error)
{
    int ends[2];
    pid_t process;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return wnn_fail(error, WNNStatus_UnknownError, "dot: %s", strerror(errno));
    fflush(stdout); // dot writes there too
    int fault = start(format, ends[0], &process);
    close(ends[0]);
    if (fault) {
        close(ends[1]);
        return wnn_fail(error, WNNStatus_UnknownError,
                        "--format=%s: dot, a program of Graphviz, does not start: %s", format,
                        strerror(fault));
    }
    // A dot that ends early is told by its status.
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction before;
    sigaction(SIGPIPE, &ignore, &before);
    bool written = write_all(ends[1], text, length);
    close(ends[1]);
    sigaction(SIGPIPE, &before, NULL);
    return finish(process, written, error);
}
