// SPDX-License-Identifier: Apache-2.0
#include "tools/bench_peer.h"

#include "tools/bounds.h"
#include "tools/memory.h"

#include <cjson/cJSON.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define SKIPPED 77

static void take(struct peer_result *result, double milliseconds)
{
    if (!isfinite(milliseconds) || milliseconds < 0)
        return;
    double seconds = milliseconds * 1e-3;
    if (!result->found || seconds < result->least)
        result->least = seconds;
    result->found = true;
}

static void read_line(const char *line, struct peer_result *result)
{
    const char *brace = strchr(line, '{');
    cJSON *object = brace ? cJSON_Parse(brace) : NULL;
    if (object) {
        const cJSON *time = cJSON_GetObjectItem(object, "min_ms"),
                    *name = cJSON_GetObjectItem(object, "peer");
        if (cJSON_IsNumber(time))
            take(result, time->valuedouble);
        if (cJSON_IsString(name))
            snprintf(result->name, sizeof result->name, "%s", name->valuestring);
        cJSON_Delete(object);
        return;
    }
    char *end;
    double number = strtod(line, &end);
    if (end != line)
        take(result, number);
}

bool peer_run(const char *command, const char *graph, unsigned threads, struct peer_result *result,
              struct error *error)
{
    char number[16];
    snprintf(number, sizeof number, "%u", threads);
    setenv("WEBNN_GRAPH", graph, 1);
    setenv("WEBNN_THREADS", number, 1);
    if (!result->name[0])
        snprintf(result->name, sizeof result->name, "%s", command);
    fflush(stdout);
    FILE *pipe = popen(command, "r");
    if (!pipe)
        return wnn_fail(error, WNNStatus_UnknownError, "%s: %s", command, strerror(errno));
    char *text = must_allocate(MAX_PEER_OUTPUT + 2);
    size_t printed = fread(text, 1, MAX_PEER_OUTPUT + 1, pipe);
    char *line = text;
    for (char *end; (end = memchr(line, '\n', printed - (size_t)(line - text))); line = end + 1) {
        *end = '\0';
        read_line(line, result);
    }
    read_line(line, result); // the last, without an end
    free(text);
    int status = pclose(pipe);
    if (printed > MAX_PEER_OUTPUT)
        return wnn_fail(error, WNNStatus_UnknownError,
                        "what the peer's command prints is longer than %zu bytes: %s", MAX_PEER_OUTPUT,
                        command);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
        return true;
    if (status != 0)
        return wnn_fail(error, WNNStatus_UnknownError, "the peer's command failed with status %d: %s",
                        WIFEXITED(status) ? WEXITSTATUS(status) : -1, command);
    return result->found ||
           wnn_fail(error, WNNStatus_UnknownError, "the peer's command printed no milliseconds: %s", command);
}
