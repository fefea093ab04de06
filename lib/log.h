// SPDX-License-Identifier: Apache-2.0
//
// Messages for the host's log (WNNLog). Where nobody listens a message costs a comparison, and is not put
// together.

#ifndef LIB_LOG_H_
#define LIB_LOG_H_

#include <webnn/webnn.h>

static inline bool wnn_logs(const WNNLog *log, WNNLogLevel level)
{
    return log && log->callback && level <= log->maxLevel;
}

// Not while a lock is held.
void wnn_log_message(const WNNLog *log, WNNLogLevel level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define wnn_log(log, level, ...)                                                                             \
    (wnn_logs((log), WNNLogLevel_##level) ? wnn_log_message((log), WNNLogLevel_##level, __VA_ARGS__)         \
                                          : (void)0)

#endif
